import TestSupport
import TidemarkLog

/// One fault at every call of seeded workloads, then work goes on, and then the process is killed or the power is cut.
///
/// A disk that reports its errors must cost nothing that was acknowledged. A disk that lies may destroy what was durable: then a gap, a
/// reported tail or an error is the honest answer, and silent loss or a wrong event is not.
struct FaultLayer: Layer {
  static let name = "fault"
  let seed: UInt64

  func run(_ number: Int, into piece: inout Piece) throws {
    let seed = splitMix(seed &+ UInt64(number) &* splitMixStep)
    let scene = try FaultScene(seed: seed, reopens: number % 8 == 3)
    for (call, kind) in scene.calls.enumerated() {
      var random = SeededRandom(seed: seed &+ UInt64(call))
      for fault in ScriptedFault.all(at: call, of: kind, using: &random) {
        try FaultRun(scene, fault, seed: random.next()).run(&piece)
      }
    }
    var random = SeededRandom(seed: ~seed)
    for _ in 0..<4 { try FaultRun(scene, ScriptedFault.fullDisk(using: &random), seed: random.next()).run(&piece) }
  }
}

/// What a workload starts from, and the calls that it makes when nothing goes wrong.
struct FaultScene {
  let image: DiskImage
  let history: History
  let crash: Crash
  let options: LogOptions
  let operations: [Operation]
  let calls: [Calls]
  let seed: UInt64

  /// `reopens`: the operations are those of ``reopenings(_:)``.
  init(seed: UInt64, reopens: Bool) throws {
    var random = SeededRandom(seed: seed)
    let levels: [Durability] = [.synced, .synced, .written, .buffered]
    options = Driver.options(levels[random.number(below: 4)])
    self.seed = random.next()
    let mix = OperationMix.everything
    // What is there already.
    let before = Driver(SimulatedDisk(), History(), options, seed: random.next())
    try before.open()
    for _ in 0..<random.number(in: 0...8) { _ = try before.perform(mix.operation(using: &random)) }
    switch random.number(below: 3) {
    case 0:
      try before.close()
      before.history.model.markSynced()
      crash = .close
    case 1: crash = .kill
    default: crash = .powerCut
    }
    var image = before.disk.image
    image.processKill()
    if crash == .powerCut { image.powerCut(.seeded(random.next(), garbage: .inFreshSectors)) }
    self.image = image
    history = before.history
    operations = reopens ? Self.reopenings(&random) : Self.operations(mix, &random)
    // Once without a fault.
    let driver = Driver(SimulatedDisk(image), history, options, seed: self.seed)
    driver.disk.trace = []
    try driver.open()
    try driver.checkAndSettle(after: crash)
    for operation in operations {
      if let error = try driver.perform(operation) { throw Violation(.operation, "\(operation) failed though nothing was wrong: \(error)") }
    }
    calls = driver.disk.trace?.map(\.kind) ?? []
  }

  /// Opening and closing so often that some close frame shares no sector with what follows it, and so is not written along with that.
  private static func reopenings(_ random: inout SeededRandom) -> [Operation] {
    func append() -> Operation { .append(byteCount: random.number(in: 0...400)) }
    return [append()] + [Operation](repeating: .reopen, count: 10) + [append()]
  }

  /// Some of everything; or opening and closing again and again, with appends in between.
  private static func operations(_ mix: OperationMix, _ random: inout SeededRandom) -> [Operation] {
    if random.isOneIn(4) {
      return (0..<random.number(in: 1...3)).flatMap { _ -> [Operation] in
        [random.isOneIn(4) ? .suspend : .reopen, .append(byteCount: random.number(in: 0...400))]
      }
    }
    return (0..<random.number(in: 2...5)).map { _ in mix.operation(using: &random) }
  }
}
