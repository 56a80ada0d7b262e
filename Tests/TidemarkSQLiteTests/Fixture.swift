import CSQLite
import Foundation
import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections
import TidemarkSQLite

/// A log on a simulated disk, and a folder for databases.
final class Fixture {
  let disk = SimulatedDisk()
  let environment: Environment
  let options: LogOptions
  private(set) var log: Log
  let folder: String
  var file: String { folder + "/rows.sqlite" }

  init(seed: UInt64 = 1, durability: Durability = .synced) throws {
    environment = .simulated(disk, seed: seed, clock: SteppingClock())
    var options = LogOptions()
    options.segmentByteCount = 8192
    options.zerosAheadByteCount = 2048
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    options.durability = durability
    self.options = options
    try Log.create(at: "/log", options: options, environment: environment)
    log = try Log.open(at: "/log", options: options, environment: environment)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-sqlite-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func cutPower() throws {
    disk.powerCycle(.losesEverything)
    log = try Log.open(at: "/log", options: options, environment: environment)
  }

  func reader() throws -> Log { try Log.openForReading(at: "/log", options: options, environment: environment) }

  func sink(_ definition: ProjectionDefinition, _ change: (inout SQLiteSinkOptions) -> Void = { _ in }) throws -> SQLiteSink {
    var options = SQLiteSinkOptions()
    options.onUnreadable = .park
    options.busyTimeoutMilliseconds = 0
    change(&options)
    return try SQLiteSink(definition, of: log, file: file, options: options)
  }

  func number(_ sql: String) throws -> Int { try Int(Connection(file).rows(sql).first?.first ?? "") ?? -1 }

  /// The rows as the database has them, in the order of the keys' bytes.
  func rows(_ definition: ProjectionDefinition) throws -> [[String]] {
    let columns = definition.fold == .count ? "key, value, value" : definition.fold == .latest ? "key, value, ''" : "key, value, count"
    return try Connection(file).rows("SELECT \(columns) FROM \"\(definition.name)\" ORDER BY key")
  }

  /// The rows of everything below an offset, folded anew, without sink or snapshot.
  func expected(_ definition: ProjectionDefinition, below end: Offset, _ policy: ProjectionOptions.UnreadablePolicy = .park) throws
    -> [[String]]
  {
    var options = ProjectionOptions()
    options.onUnreadable = policy
    options.directory = "/nowhere"
    let runner = try ProjectionRunner(definition.projection, of: log, options: options)
    let rows = definition.projection.rows(of: try runner.state(asOf: end).state)
    return rows.map { [$0.key, $0.value, $0.count.map(String.init) ?? ""] }
  }
}

/// Plain SQL, past the sink.
@safe final class Connection {
  struct Failure: Error {
    let what: String
  }

  private let handle: OpaquePointer

  init(_ path: String) throws {
    var opened: OpaquePointer?
    let code = unsafe sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
    guard code == SQLITE_OK, let handle = unsafe opened else { throw Failure(what: "\(path) can't be opened") }
    unsafe self.handle = handle
    unsafe sqlite3_busy_timeout(handle, 5_000)
  }

  deinit { unsafe sqlite3_close_v2(handle) }

  private func check(_ code: Int32, _ sql: String) throws {
    if code != SQLITE_OK { throw Failure(what: "\(sql): " + (unsafe String(cString: sqlite3_errmsg(handle)))) }
  }

  func execute(_ sql: String) throws { try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil), sql) }

  func rows(_ sql: String) throws -> [[String]] {
    var prepared: OpaquePointer?
    try check(unsafe sqlite3_prepare_v2(handle, sql, -1, &prepared, nil), sql)
    guard let statement = unsafe prepared else { throw Failure(what: sql) }
    defer { unsafe sqlite3_finalize(statement) }
    var rows: [[String]] = []
    while unsafe sqlite3_step(statement) == SQLITE_ROW {
      var row: [String] = []
      for column in 0..<(unsafe sqlite3_column_count(statement)) {
        let start = unsafe sqlite3_column_blob(statement, column)
        let count = unsafe Int(sqlite3_column_bytes(statement, column))
        row.append(unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self))
      }
      rows.append(row)
    }
    return rows
  }
}

func id(_ number: Int) -> EventID { EventID(high: 0x0123_4567_89AB_7000, low: 0x8000_0000_0000_0000 | UInt64(number) &* 0x9E37_79B9) }

func event(_ text: String, _ number: Int? = nil, superseding: Int? = nil) -> NewEvent {
  NewEvent(
    type: "test", id: number.map { id($0) }, extensions: superseding.map { [.supersedes(id($0))] } ?? [], data: Array(text.utf8))
}

func define(_ fold: String, name: String = "d", key: String = #"["/k"]"#, rest: String = "") throws -> ProjectionDefinition {
  let value = fold == "count" ? "" : #""value": "/v", "#
  return try ProjectionDefinition(json: Array(#"{"name": "\#(name)", "key": \#(key), \#(value)\#(rest)"fold": "\#(fold)"}"#.utf8))
}

func error(_ body: () throws -> Void) -> LogError? {
  do {
    try body()
    return nil
  } catch { return error as? LogError }
}

/// Keys that look alike and are spelled otherwise, and ones that SQL might take apart.
let spellings = ["a", "b", "caf\u{E9}", "cafe\u{301}", "it's", "\\u0000", "\u{1F6EB}", ""]

/// Events with few keys that correct each other; some can't be read.
func events(_ random: inout SeededRandom, count: Int, correctionOneIn: Int) -> [NewEvent] {
  (0..<count).map { number in
    let key = spellings[random.number(below: spellings.count)]
    let value = random.isOneIn(9) ? "\"?\"" : "\(random.number(below: 40)).\(random.number(below: 10))"
    return event(
      #"{"k":"\#(key)","l":"\#(number % 3)","v":\#(value)}"#, number,
      superseding: random.isOneIn(correctionOneIn) ? random.number(below: count + 2) : nil)
  }
}
