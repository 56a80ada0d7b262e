/// What came of one fault on one engine.
package struct Cell: Sendable {
  package var engine: String
  package var claim: Claim
  package var isControl: Bool
  package var fault: Fault
  package var injections = 0
  /// Acknowledged events that were in the store at an injection, summed over the injections.
  package var atRisk = 0
  package var lost = 0
  package var worstLost = 0
  /// How long before the fault the first lost event of the worst injection was acknowledged.
  package var worstWindowMicroseconds: UInt64 = 0
  package var injectionsWithLoss = 0
  /// Given out once, never acknowledged, and gone.
  package var retracted = 0
  /// Acknowledged and not shown while the disk was full.
  package var withheld = 0
  package var phantoms = 0
  package var damaged = 0
  package var duplicates = 0
  package var gaps = 0
  package var disordered = 0
  package var tornBatches = 0
  /// Injections after which the store could not be opened, or not be read to its end.
  package var unopenable = 0
  /// Injections after which what was found broke a promise: lost what it claims to keep, or was not whole.
  package var violations = 0
  /// Workloads that were killed at each of their calls, one after the other.
  package var wholeWorkloads = 0
  /// Images that the file system itself would not mount. They say nothing about the engine.
  package var fileSystemFailures = 0
  /// How often the engine gave up with an error, and the first of them.
  package var writerErrors = 0
  package var firstWriterError = ""
  package var recoveryMicroseconds: [UInt64] = []
  package var seconds = 0.0
  /// What reached the disk while it was recorded, and for how much.
  package var traffic = Traffic()
  /// What was wrong, the first few times.
  package var complaints: [String] = []
  /// What stopped it before its time.
  package var stopped: String?
  /// Of the injection that lost most (or the last one): which acknowledgements were kept.
  package var timeline: [TimelinePoint] = []

  /// What an engine asked of a disk.
  package struct Traffic: Sendable {
    package var acknowledgements = 0
    package var eventBytes = 0
    package var flushes = 0
    package var writtenBytes = 0

    package var flushesPerAcknowledgement: Double? { acknowledgements > 0 ? Double(flushes) / Double(acknowledgements) : nil }
    package var writtenPerByte: Double? { eventBytes > 0 ? Double(writtenBytes) / Double(eventBytes) : nil }
  }

  /// Acknowledgements of one writer, and whether they held.
  package struct TimelinePoint: Sendable {
    package var microseconds: UInt64
    package var event: UInt64
    package var isKept: Bool
  }

  static let complaintLimit = 8

  package init(_ subject: Subject, _ fault: Fault) {
    engine = subject.name
    claim = subject.claim
    isControl = subject.isControl
    self.fault = fault
  }

  /// Whether the engine claims to keep acknowledged events under this fault.
  package var isClaimed: Bool { fault.isCovered(by: claim) }

  /// With 95 % confidence, the part of injections that lose events is below this if none did.
  package var bound: Double? { injectionsWithLoss == 0 && injections > 0 ? min(1, 3 / Double(injections)) : nil }

  /// Whether nothing acknowledged was lost and what was found was always whole.
  package var isClean: Bool {
    injections > 0 && lost + phantoms + damaged + duplicates + gaps + disordered + tornBatches + unopenable == 0
  }

  mutating func complain(_ text: String) {
    if complaints.count < Self.complaintLimit { complaints.append(text) }
  }

  /// Takes in one injection's judgement.
  mutating func add(_ judgement: Judgement, atRisk: UInt64, _ place: @autoclosure () -> String) {
    injections += 1
    self.atRisk += Int(clamping: atRisk)
    lost += judgement.lost
    worstLost = max(worstLost, judgement.lost)
    if judgement.lost > 0 { injectionsWithLoss += 1 }
    retracted += judgement.retracted
    phantoms += judgement.phantoms
    damaged += judgement.damaged
    duplicates += judgement.duplicates
    gaps += judgement.gaps
    disordered += judgement.disordered
    tornBatches += judgement.tornBatches
    guard (isClaimed && judgement.lost + judgement.retracted > 0) || !judgement.isWhole else { return }
    violations += 1
    complain("\(place()): \(judgement.text)")
  }

  /// Takes in an injection after which the store could not be read.
  mutating func addUnopenable(atRisk: UInt64, _ why: String) {
    injections += 1
    self.atRisk += Int(clamping: atRisk)
    unopenable += 1
    violations += 1
    complain(why)
  }

  mutating func addWriterError(_ text: String) {
    writerErrors += 1
    if firstWriterError.isEmpty { firstWriterError = text }
  }

  /// Keeps this writer's acknowledgements for the plot if they lost more than those before.
  mutating func keepTimeline(_ writer: Writer, _ judgement: Judgement, cut: UInt64) {
    guard timeline.isEmpty || judgement.lost > 0 && judgement.lost >= worstLost else { return }
    let lost = judgement.lostRange
    let step = max(1, writer.moments.count / 400)
    timeline = stride(from: 0, to: writer.moments.count, by: step).map { index in
      let moment = writer.moments[index]
      let event = moment.acknowledged - 1
      return TimelinePoint(microseconds: moment.nanoseconds / 1000, event: event, isKept: !(lost?.contains(event) ?? false))
    }
    if let lost, let first = writer.moments.first(where: { $0.acknowledged > lost.lowerBound }) {
      worstWindowMicroseconds = (cut - min(cut, writer.start + first.nanoseconds)) / 1000
    }
  }

  /// Adds what another lane of the same fault and engine found.
  mutating func merge(_ other: Cell) {
    if other.worstLost > worstLost || timeline.isEmpty {
      timeline = other.timeline
      worstWindowMicroseconds = other.worstWindowMicroseconds
    }
    injections += other.injections
    atRisk += other.atRisk
    lost += other.lost
    worstLost = max(worstLost, other.worstLost)
    injectionsWithLoss += other.injectionsWithLoss
    retracted += other.retracted
    withheld += other.withheld
    phantoms += other.phantoms
    damaged += other.damaged
    duplicates += other.duplicates
    gaps += other.gaps
    disordered += other.disordered
    tornBatches += other.tornBatches
    unopenable += other.unopenable
    violations += other.violations
    wholeWorkloads += other.wholeWorkloads
    fileSystemFailures += other.fileSystemFailures
    writerErrors += other.writerErrors
    if firstWriterError.isEmpty { firstWriterError = other.firstWriterError }
    traffic.acknowledgements += other.traffic.acknowledgements
    traffic.eventBytes += other.traffic.eventBytes
    traffic.flushes += other.traffic.flushes
    traffic.writtenBytes += other.traffic.writtenBytes
    recoveryMicroseconds += other.recoveryMicroseconds
    for complaint in other.complaints { complain(complaint) }
    stopped = stopped ?? other.stopped
  }
}

extension Judgement {
  /// What is wrong, in words.
  var text: String {
    let counts = [
      (lost, "lost"), (retracted, "served once and gone"), (phantoms, "never appended"), (damaged, "with wrong content"),
      (duplicates, "twice"),
      (gaps, "missing before later ones"), (disordered, "out of order"),
    ]
    var parts = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.0 == 1 ? "event" : "events") \($0.1)" }
    if tornBatches > 0 { parts.append("\(tornBatches) torn \(tornBatches == 1 ? "batch" : "batches")") }
    if let lostRange { parts.append("lost are \(lostRange.lowerBound) to \(lostRange.upperBound)") }
    return parts.joined(separator: ", ")
  }
}
