import Foundation
import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections
import TidemarkSQLite

@Suite struct SinkErrorTests {
  private func fixture(_ count: Int = 3) throws -> (Fixture, ProjectionDefinition) {
    let fixture = try Fixture()
    for number in 0..<count { try fixture.log.append(event(#"{"k":"\#(number)","v":1}"#)) }
    return (fixture, try define("sum"))
  }

  private func expect(_ found: LogError?, _ code: LogError.Code, _ file: String) {
    #expect(found?.code == code && found?.file == file && found?.advice.isEmpty == false, "\(String(describing: found))")
  }

  @Test func `a file that is no database stays as it is`() throws {
    let (fixture, definition) = try fixture()
    let text = Data(String(repeating: "this is a letter, not a table. ", count: 100).utf8)
    try text.write(to: URL(fileURLWithPath: fixture.file))
    expect(error { _ = try fixture.sink(definition) }, .notADatabase, fixture.file)
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.file)) == text)
  }

  @Test func `a database that another connection holds is locked, and what it holds is kept`() throws {
    let (fixture, definition) = try fixture()
    let sink = try fixture.sink(definition)
    let other = try Connection(fixture.file)
    try other.execute("BEGIN IMMEDIATE; CREATE TABLE mine(x)")
    expect(error { try sink.catchUp() }, .databaseLocked, fixture.file)
    try other.execute("COMMIT")
    try sink.catchUp()
    #expect(try fixture.rows(definition).count == 3)
    #expect(try fixture.number("SELECT count(*) FROM mine") == 0)
  }

  @Test func `a file that the system does not let be written is read-only`() throws {
    let (fixture, definition) = try fixture()
    // Of the kernel's own files, none of which can be written; elsewhere root may write everything.
    let file = "/sys/kernel/uevent_seqnum"
    guard FileManager.default.fileExists(atPath: file) else { return }
    let found = error { _ = try SQLiteSink(definition, of: fixture.log, file: file) }
    #expect([.databaseReadOnly, .permissionDenied].contains(found?.code) && found?.file == file, "\(String(describing: found))")
  }

  @Test func `directories, and directories that are not there, are told`() throws {
    let (fixture, definition) = try fixture()
    for file in [fixture.folder, fixture.folder + "/none/rows.sqlite"] {
      expect(error { _ = try SQLiteSink(definition, of: fixture.log, file: file) }, .io, file)
    }
    for file in ["", ":memory:"] {
      #expect(error { _ = try SQLiteSink(definition, of: fixture.log, file: file) }?.code == .invalidArgument)
    }
  }

  @Test func `a full disk leaves rows and offset in step, and the next call goes on`() throws {
    let (fixture, definition) = try fixture(0)
    try fixture.log.append((0..<2000).map { event(#"{"k":"\#($0) \#(String(repeating: "x", count: 90))","v":1}"#) })
    let sink = try fixture.sink(definition) { $0.eventsPerTransaction = 100 }
    try sink.limit(pageCount: 40)
    for _ in 0..<2 { expect(error { try sink.catchUp() }, .diskFull, fixture.file) }
    let applied = try fixture.number("SELECT applied_offset FROM tidemark_applied")
    #expect(applied > 0 && applied < 2000)
    #expect(try fixture.rows(definition) == fixture.expected(definition, below: Offset(applied)))
    try sink.limit(pageCount: 100_000)
    try sink.catchUp()
    #expect(try fixture.rows(definition) == fixture.expected(definition, below: fixture.log.size))
  }

  @Test func `a table that is another's stays as it is`() throws {
    let (fixture, definition) = try fixture()
    try Connection(fixture.file).execute("CREATE TABLE d(mine)")
    expect(error { _ = try fixture.sink(definition) }, .databaseSchema, fixture.file)
    try fixture.sink(define("sum", name: "e")).catchUp()
    expect(error { _ = try fixture.sink(definition) }, .databaseSchema, fixture.file)
    #expect(try Connection(fixture.file).rows("SELECT name FROM pragma_table_info('d')") == [["mine"]])
  }

  @Test func `tables that were changed, or are of a newer sink, are refused`() throws {
    let (fixture, definition) = try fixture()
    try fixture.sink(definition).catchUp()
    try Connection(fixture.file).execute("UPDATE tidemark_applied SET schema = 2")
    expect(error { _ = try fixture.sink(definition) }, .unsupportedVersion, fixture.file)
    try Connection(fixture.file).execute("UPDATE tidemark_applied SET schema = 1; ALTER TABLE d RENAME COLUMN value TO worth")
    expect(error { _ = try fixture.sink(definition) }, .databaseSchema, fixture.file)
    try Connection(fixture.file).execute("ALTER TABLE tidemark_applied RENAME COLUMN fold TO folded")
    expect(error { _ = try fixture.sink(definition) }, .databaseSchema, fixture.file)
  }

  @Test func `a damaged database is told, or its rows are made anew, at any byte`() throws {
    let (fixture, definition) = try fixture(40)
    try fixture.sink(definition).catchUp()
    try Connection(fixture.file).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let whole = try Data(contentsOf: URL(fileURLWithPath: fixture.file))
    var random = SeededRandom(seed: 7)
    var codes: Set<LogError.Code> = []
    for _ in 0..<150 {
      for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: fixture.file + suffix) }
      var changed = whole
      let start = random.number(below: changed.count)
      for index in start..<min(changed.count, start + 1 + random.number(below: 64)) { changed[index] = UInt8(random.number(below: 256)) }
      try changed.write(to: URL(fileURLWithPath: fixture.file))
      // Whatever it is, it is an error of the one type, never a trap.
      if let found = error({ try fixture.sink(definition).catchUp() }) { codes.insert(found.code) }
    }
    #expect(codes.contains(.databaseDamaged) || codes.contains(.notADatabase), "\(codes)")
  }

  @Test func `names that a table can't have are refused`() throws {
    let (fixture, _) = try fixture()
    for name in ["sqlite_rows", "tidemark_applied"] {
      #expect(error { _ = try fixture.sink(define("sum", name: name)) }?.code == .invalidArgument)
    }
    #expect(error { _ = try fixture.sink(define("sum")) { $0.eventsPerTransaction = 0 } }?.code == .invalidArgument)
  }

  @Test func `two sinks of one table do not spoil it`() throws {
    let (fixture, definition) = try fixture()
    let (one, two) = (try fixture.sink(definition), try fixture.sink(definition))
    for number in 0..<6 {
      try fixture.log.append(event(#"{"k":"\#(number % 2)","v":1}"#))
      try (number % 3 == 0 ? one : two).catchUp()
      if number == 4 {
        // A third one, of another version, comes between.
        try fixture.sink(define("maximum")).catchUp()
      }
      #expect(try number == 4 || fixture.rows(definition) == fixture.expected(definition, below: fixture.log.size))
    }
  }
}
