import TestSupport
import TidemarkLog

/// One fault in one scene.
final class FaultRun {
  private let scene: FaultScene
  private let fault: ScriptedFault
  private let driver: Driver
  private var random: SeededRandom
  /// From this offset on nobody can promise anything. What a misdirected write hits may also be what tells that the log was trimmed.
  private var last: DiskImage?
  private var doubt: UInt64?

  init(_ scene: FaultScene, _ fault: ScriptedFault, seed: UInt64) {
    self.scene = scene
    self.fault = fault
    random = SeededRandom(seed: seed)
    driver = Driver(SimulatedDisk(scene.image), scene.history, scene.options, seed: scene.seed)
    driver.disk.plan = fault.plan
    driver.disk.capacity = fault.freeByteCount.map { $0 + scene.image.usedByteCount }
    if fault.cost != .nothing { driver.tolerance = .reportedLoss }
    if fault.cost == .anything { driver.options.onCorruption = .quarantine }
  }

  func run(_ piece: inout Piece) throws {
    piece.note("\(fault.name), \(scene.options.durability), after \(scene.crash)")
    driver.trace = piece.trace == nil ? nil : []
    let start = driver.disk.callCount
    defer { piece.trace? += driver.trace ?? [] }
    do {
      try open()
      for operation in scene.operations { try work(operation) }
      driver.note("\(driver.disk.callCount - start) calls, the fault struck \(driver.disk.faultCount) times")
      passFault()
      if random.isOneIn(2) { try goOn() }
      piece.states += 1
      try follow(&piece)
    } catch is EndOfScene {
      piece.states += 1
    } catch {
      if let last { piece.trace? += last.description() } else { piece.trace? += driver.disk.image.description() }
      throw error
    }
  }

  // MARK: The process that meets the fault

  private func open() throws {
    do {
      try driver.open()
      driver.note("open")
    } catch let error as LogError {
      driver.note("open: \(error)")
      try judge(error, "opening")
      noteDoubt(nil)
      // Once more, when the fault has passed.
      passFault()
      do { try driver.open() } catch { throw Violation(.operation, "the log does not open after the fault has passed: \(error)") }
    }
    noteDoubt(nil)
    if driver.log?.recoveryReport.isDegraded == true { try resume() }
    try settle(scene.crash)
  }

  /// The log was opened without the space to finish its recovery: it serves what is surely durable, and goes on when there is space.
  private func resume() throws {
    try driver.checkDegraded(after: scene.crash)
    do { try driver.log?.recordDurable() } catch let error as LogError {
      try judge(error, "taking recovery up again")
      driver.note("still degraded")
      passFault()
      do { try driver.log?.recordDurable() } catch { throw Violation(.operation, "recovery is not taken up again with space: \(error)") }
    }
  }

  /// Compares, and takes what was read for final.
  private func settle(_ crash: Crash) throws {
    let count = driver.disk.faultCount
    do {
      let read = try driver.check(after: crash)
      if driver.disk.faultCount == count { return driver.history.settle(read) }
    } catch let error as LogError { try judge(error, "reading") }
    // What the fault hid from this look may show in the next: only a look without it is final.
    passFault()
    try driver.checkAndSettle(after: crash)
  }

  private func work(_ operation: Operation) throws {
    let durable = driver.log?.durable ?? 0
    let struck = driver.disk.faultCount
    let error: LogError?
    do { error = try driver.perform(operation) } catch let violation as Violation {
      // What the event was to be compared with is lost in this moment.
      guard fault.cost == .anything, driver.disk.faultCount > struck, operation.comparesEvents else { throw violation }
      throw EndOfScene()
    }
    noteDoubt(durable)
    guard let error else { return }
    try judge(error, "\(operation)")
    if operation == .suspend || operation == .reopen || error.code == .closed {
      // The process has closed the log, and opens it again.
      driver.abandon()
      passFault()
      do { try driver.open() } catch { throw Violation(.operation, "the log does not open after a failed close: \(error)") }
      try settle(.kill)
    }
  }

  /// From the first operation on that met a lie, nothing that came to be durable in it or later is certain.
  private func noteDoubt(_ durable: UInt64?) {
    guard fault.cost != .nothing, doubt == nil, driver.disk.faultCount > 0 else { return }
    doubt = durable ?? 0
    driver.note("the fault struck: from \(doubt ?? 0) on nothing is certain")
    applyDoubt()
  }

  private func applyDoubt() {
    guard let doubt else { return }
    driver.history.model.doubt(from: doubt, first: 0)
    driver.history.recorded = min(driver.history.recorded, doubt)
  }

  /// Whether the error is one that the fault explains.
  private func judge(_ error: LogError, _ what: String) throws {
    if fault.cost == .anything { return }
    let expected: [LogError.Code] =
      switch fault.errno {
      case DiskError.noSpace: [.diskFull]
      case DiskError.accessDenied: [.permissionDenied]
      default: [.io, .outcomeUnknown]
      }
    // An event whose pages were dropped can't be compared with its repeat.
    if fault.cost == .unsyncedPages, error.code == .corrupt { return }
    if !expected.contains(error.code) {
      throw Violation(.operation, "\(what) failed with \(error.code.rawValue) because of \(fault.name): \(error)")
    }
  }

  /// When the fault has passed, the next append succeeds without a restart.
  private func goOn() throws {
    if let error = try driver.perform(.append(byteCount: 40)) {
      if fault.cost == .anything { return }
      throw Violation(.operation, "an append failed after the fault had passed: \(error)")
    }
    do { try driver.check(after: .none) } catch let error as LogError {
      if fault.cost != .anything { throw Violation(.operation, "reading failed after the fault had passed: \(error)") }
    }
  }

  private func passFault() {
    driver.disk.plan = FaultPlan()
    driver.disk.capacity = nil
  }

  // MARK: What comes after

  private func follow(_ piece: inout Piece) throws {
    let seed = random.next()
    applyDoubt()
    for crash in [Crash.kill, .powerCut, .powerCut] {
      piece.states += 1
      var image = driver.disk.image
      if crash == .kill {
        image.processKill()
      } else {
        image.powerCut(piece.states % 2 == 0 ? .losesEverything : .seeded(seed, garbage: .inFreshSectors))
      }
      driver.note("\(crash)")
      last = image
      let next = Driver(SimulatedDisk(image), driver.history, driver.options, seed: seed &+ UInt64(piece.states))
      next.tolerance = driver.tolerance
      do { try next.open() } catch { throw Violation(.operation, "the log does not open after a fault and a crash: \(error)") }
      driver.note(next.log.map { "\($0.recoveryReport)" } ?? "")
      try next.checkAndSettle(after: crash)
      if let error = try next.perform(.append(byteCount: 30)) {
        throw Violation(.operation, "no append after a fault and a crash: \(error)")
      }
      try next.check(after: .none)
    }
  }
}

/// Nothing can be said of what comes after.
private struct EndOfScene: Error {}

extension Operation {
  /// Whether its answer depends on an event that was appended before.
  fileprivate var comparesEvents: Bool {
    switch self {
    case .duplicate, .conflict, .retry: true
    default: false
    }
  }
}
