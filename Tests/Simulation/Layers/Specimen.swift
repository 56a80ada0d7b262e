import TestSupport
import TidemarkLog

/// A small sound log to be damaged, and what it serves.
struct Specimen: Sendable {
  enum Kind: Int, CaseIterable {
    /// Closed in good order: sealed, closed and newest segments.
    case closed
    /// The process died behind a mark; one more event is not recorded as durable.
    case marked
    /// Trimmed, and so many sealed segments that their ids are merged.
    case indexed
  }

  /// A file, and where each of its frames begins with the offsets in it.
  struct Subject: Sendable {
    var path: String
    var byteCount: Int
    var isNewest: Bool
    var isIndex: Bool
    /// Bytes from there on belong to nobody: behind the end that a successor pins.
    var end: Int
    var frames: [(position: Int, offsets: Range<UInt64>)]
    var offsets: Range<UInt64>
  }

  let kind: Kind
  let image: DiskImage
  let clean: Served
  /// Below it everything is recorded as durable.
  let durable: UInt64
  let findings: [Finding]
  private(set) var subjects: [Subject] = []
  private(set) var segments: [String] = []

  static func options(_ policy: CorruptionPolicy) -> LogOptions {
    var options = Driver.options()
    options.onCorruption = policy
    return options
  }

  init(_ kind: Kind, seed: UInt64) throws {
    self.kind = kind
    var random = SeededRandom(seed: seed)
    let driver = Driver(SimulatedDisk(), History(), Self.options(.refuse), seed: random.next())
    func run(_ operations: [Operation]) throws {
      for operation in operations {
        if let error = try driver.perform(operation) {
          throw Violation(.operation, "\(operation) failed though nothing was wrong: \(error)")
        }
      }
    }
    func some() -> Operation { .append(byteCount: random.number(in: 0...60)) }
    try driver.open()
    switch kind {
    case .closed:
      try run([some(), .batch(count: 3, byteCount: 20), .seal, some(), .reopen, some(), .roll, some(), .batch(count: 2, byteCount: 9)])
      try run([.stage(byteCount: 5), some(), .recordDurable, some()])
      try driver.close()
      durable = .max
    case .marked:
      try run([some(), .roll, some(), .batch(count: 2, byteCount: 30), some(), .recordDurable, some()])
      durable = driver.history.recorded
      driver.abandon()
    case .indexed:
      for _ in 0..<10 { try run([some(), some(), .seal]) }
      try run([.trim(percent: 10), some()])
      try driver.close()
      durable = .max
    }
    var image = driver.disk.image
    image.processKill()
    image.syncEverything()
    self.image = image
    let fresh = Driver(SimulatedDisk(image), History.ofSomeLog, Self.options(.refuse), seed: random.next())
    findings = try fresh.verify().findings
    try fresh.open()
    guard let log = fresh.log else { throw Violation(.operation, "the specimen does not open") }
    clean = try Served(log)
    if !clean.gaps.isEmpty || !findings.isEmpty { throw Violation(.operation, "the specimen is not sound: \(findings)") }
    try describe()
  }

  private mutating func describe() throws {
    let disk = SimulatedDisk(image)
    segments = image.files(under: Driver.path + "/segments")
    for path in image.files(under: Driver.path) {
      let byteCount = image.contents(of: path)?.count ?? 0
      var subject = Subject(
        path: path, byteCount: byteCount, isNewest: path == segments.last, isIndex: path.hasSuffix(".ids"), end: byteCount, frames: [],
        offsets: 0..<0)
      if let index = segments.firstIndex(of: path) {
        let name = path.dropFirst(Driver.path.count + "/segments/".count)
        let base = UInt64(name.prefix(20)) ?? 0
        let next =
          index + 1 < segments.count ? UInt64(segments[index + 1].dropFirst(Driver.path.count + "/segments/".count).prefix(20)) : nil
        subject.offsets = base..<(next ?? clean.size)
        try SegmentDump.describe(path, disk) { entry in
          guard entry.kind == "events", let base = entry.number("base"), let count = entry.number("count") else { return }
          subject.frames.append((Int(entry.position), base..<base + count))
          if !subject.isNewest, path.hasSuffix(".open"), let stored = entry.number("stored") {
            subject.end = (Int(entry.position) + 56 + Int(stored) + 7) & ~7
          }
        }
      }
      subjects.append(subject)
    }
  }
}

extension SegmentDump.Entry {
  fileprivate func number(_ name: String) -> UInt64? { fields.first { $0.name == name }.flatMap { UInt64($0.value) } }
}
