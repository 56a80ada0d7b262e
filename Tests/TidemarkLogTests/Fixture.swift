import TestSupport
import TidemarkLog

/// A log on a simulated disk, with small segments and no threads.
final class Fixture {
  let disk: SimulatedDisk
  let clock = SteppingClock()
  let environment: Environment
  var options: LogOptions
  private(set) var log: Log

  init(_ change: (inout LogOptions) -> Void = { _ in }, disk: SimulatedDisk = SimulatedDisk(), seed: UInt64 = 1) throws {
    self.disk = disk
    environment = .simulated(disk, seed: seed, clock: clock)
    options = LogOptions()
    options.segmentByteCount = 8192
    options.zerosAheadByteCount = 2048
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    change(&options)
    try Log.create(at: "/log", options: options, environment: environment)
    log = try Log.open(at: "/log", options: options, environment: environment)
  }

  func reopen(_ change: (inout LogOptions) -> Void = { _ in }) throws {
    try? log.close()
    change(&options)
    log = try Log.open(at: "/log", options: options, environment: environment)
  }

  /// The process is killed; the kernel keeps what was written.
  func kill() throws {
    disk.processKill()
    log = try Log.open(at: "/log", options: options, environment: environment)
  }

  func cutPower(_ cut: PowerCut = .losesEverything) throws {
    disk.powerCycle(cut)
    log = try Log.open(at: "/log", options: options, environment: environment)
  }

  func reader() throws -> Log { try Log.openForReading(at: "/log", options: options, environment: environment) }
  func verify() throws -> VerificationReport { try Log.verify(at: "/log", options: options, environment: environment) }

  /// The data of all events of callers, as text.
  func texts(_ query: Query = Query()) throws -> [String] { try Self.texts(log, query) }

  static func texts(_ log: Log, _ query: Query = Query()) throws -> [String] {
    var cursor = try log.read(query)
    var texts: [String] = []
    while let event = try cursor.next() { texts.append(event.data.text()) }
    return texts
  }

  var segmentFiles: [String] { disk.image.files(under: "/log/segments").sorted() }
}

func event(_ text: String, id: EventID? = nil, time: Int64? = nil) -> NewEvent {
  NewEvent(type: "test", subject: "s", time: time.map { Timestamp(nanoseconds: $0) }, id: id, data: Array(text.utf8))
}

func id(_ number: UInt64) -> EventID { EventID(high: 0x0123_4567_89AB_7000, low: 0x8000_0000_0000_0000 | number &* 0x9E37_79B9) }

/// The code of the error that `body` throws; nil if it throws none.
func code(_ body: () throws -> Void) -> LogError.Code? { error(body)?.code }

func error(_ body: () throws -> Void) -> LogError? {
  do {
    try body()
    return nil
  } catch {
    return error as? LogError
  }
}
