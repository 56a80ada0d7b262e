/// What a run on the machine under test is to do.
package struct PlugPlan: Sendable {
  package var address: WitnessAddress
  package var subjects: [Subject]
  package var control: Subject
  /// Tells this boot from others.
  package var boot: String
  /// The tool itself, which is wrapped around the engines.
  package var tool: String
  /// After so many events an engine's round is over.
  package var eventCount: UInt64 = 2_000_000
  /// So many events a second are asked of an engine at most, or one that does not sync fills the disk while somebody walks to the plug.
  package var eventsPerSecond: UInt64 = 4_000

  package init(address: WitnessAddress, subjects: [Subject], control: Subject, boot: String, tool: String) {
    self.address = address
    self.subjects = subjects
    self.control = control
    self.boot = boot
    self.tool = tool
  }

  var all: [Subject] { [control] + subjects }
}

/// A run over many plug pulls, on the machine whose plug is pulled: judge what the last pull left, then write until the next one.
package final class PlugRun {
  private let plan: PlugPlan
  private let directory: String
  private let marker: PlugMarker
  private let lock: LockedFile
  private let connection: WitnessConnection
  private var history = PlugHistory()
  private let say: (String) -> Void

  /// Below it the stores are, in a folder for each engine.
  private var stores: String { directory + "/stores" }

  /// Connects to the witness, and finds or begins the run of the directory. If that fails, at most an empty directory was made.
  ///
  /// - Parameter say: called with a line on all that people may want to know.
  package init(_ plan: PlugPlan, directory: String, say: @escaping (String) -> Void) throws(CrashError) {
    Libc.prepare()
    self.plan = plan
    self.say = say
    if let subject = plan.all.first(where: { !WitnessLine.isWord($0.name) }) {
      throw CrashError(
        .usage, "can't use that engine", place: subject.name, why: "its name is not of letters, digits, dots and dashes alone")
    }
    guard plan.all.count <= PlugHistory.writerLimit, Set(plan.all.map(\.name)).count == plan.all.count else {
      throw CrashError(.usage, "can't use these engines", why: "they are too many, or two have one name")
    }
    connection = try WitnessConnection(plan.address)
    let witness = try connection.greet()
    self.directory = try Lab.claim(directory, marker: PlugMarker.name)
    let path = "\(self.directory)/\(PlugMarker.name)"
    let isNew = Libc.kind(of: path) == nil
    if isNew {
      let run = Libc.newName()
      try connection.ask([.create(run: run)])
      marker = try PlugMarker(run: run, witness: witness, in: self.directory)
    } else {
      marker = try PlugMarker(in: self.directory)
      guard marker.witness == witness else {
        throw CrashError(
          .environment, "this is another witness", place: path, why: "the run was begun with witness \(marker.witness.prefix(8))")
      }
    }
    lock = try LockedFile(path, .there)
    if isNew { return }
    // All of it is taken in before it is looked at, because a closure can't change what is not made yet.
    var history = PlugHistory()
    try connection.ask([.resume(run: marker.run)]) { history.take($0) }
    self.history = history
  }

  /// Judges the round that a plug ended, if one did, and has the witness keep the results. Returns what all pulls so far have shown.
  package func judge() throws(CrashError) -> CrashReport {
    let number = UInt64(history.rounds.count)
    if let round = history.pending {
      if round.boot == plan.boot {
        say("round \(number): the boot is the same, so no plug was pulled; the round counts as nothing")
      } else if marker.endedRound == number {
        say("round \(number): it was ended before the boot; the round counts as nothing")
      } else {
        try judge(round, number)
      }
    }
    var report = PlugReport.of(history, plan)
    report.environment = EnvironmentFacts.of(directory)
    return report
  }

  private func judge(_ round: PlugHistory.Round, _ number: UInt64) throws(CrashError) {
    var lines: [WitnessLine] = []
    for writer in round.writers {
      guard let subject = plan.all.first(where: { $0.name == writer.engine }) else {
        throw CrashError(
          .usage, "can't judge round \(number)", place: writer.engine,
          why: "this engine wrote in it and is not named now; give the same command")
      }
      lines.append(.result(engine: writer.engine, try result(of: writer, subject)))
    }
    lines.append(.judged)
    for line in lines { _ = history.take(line) }
    try connection.ask(lines)
    if history.rounds.last?.isPull != true {
      say("round \(number): not even the control lost anything, so nothing shows that the plug was pulled; the round counts as nothing")
    } else {
      say("round \(number): judged")
    }
  }

  /// Opens a store in a fresh process and compares what is there with what the witness heard.
  private func result(of writer: PlugHistory.Writer, _ subject: Subject) throws(CrashError) -> PlugResult {
    var result = PlugResult()
    result.atRisk = writer.acknowledged
    let verified = try Captured(subject.program, subject.arguments("verify", "\(stores)/\(writer.engine)"), seconds: 600)
    guard verified.code == 0, let found = Found(output: verified.output) else {
      say("\(writer.engine): can't be opened\(verified.remark)")
      result.isUnopenable = true
      return result
    }
    var expectation = Expectation()
    expectation.acknowledged = writer.acknowledged
    // How far it came after the last that the witness heard, nobody knows.
    expectation.attempted = writer.count
    expectation.runs = [Expectation.Run(first: 0, end: writer.count, batch: writer.batch)]
    result.judgement = Judgement.of(found, expectation)
    result.openingMicroseconds = found.openingMicroseconds
    return result
  }

  /// Begins the next round and goes on until the plug is pulled. It returns or throws only if that does not happen; then the round counts
  /// as nothing.
  package func write(until isStopped: () -> Bool, progress: (UInt64) -> Void) throws(CrashError) {
    let number = UInt64(history.rounds.count + 1)
    Libc.remove(stores)
    try Libc.makeDirectory(stores)
    try Libc.syncDirectory(directory)
    var lines = [WitnessLine.round(number: number, boot: plan.boot)]
    // Single events and batches in turn.
    let batches = plan.all.indices.map { (UInt64($0) + number) % 3 == 0 ? UInt64(5) : 1 }
    for (subject, batch) in zip(plan.all, batches) { lines.append(.writer(engine: subject.name, batch: batch, count: plan.eventCount)) }
    lines.append(.begin)
    for line in lines { _ = history.take(line) }
    try connection.ask(lines)
    var writers: [PlugWriter] = []
    var failure: CrashError?
    do {
      for (subject, batch) in zip(plan.all, batches) {
        let path = "\(stores)/\(subject.name)"
        let writer = try Writer(
          subject, path, first: 0, batch: batch, size: 100, count: plan.eventCount, limit: .max, tool: plan.tool, momentLimit: 0)
        writers.append(PlugWriter(subject.name, writer))
      }
      say("round \(number): \(writers.count) engines write; pull the plug, then boot and give the same command again")
      try hear(&writers, until: isStopped, progress: progress)
    } catch { failure = error }
    for writer in writers { writer.end() }
    do { try marker.noteEnd(of: number) } catch { failure = failure ?? error }
    if let failure { throw failure }
    say("round \(number): ended without a plug; the round counts as nothing")
  }

  /// Passes each acknowledgement on as soon as it comes.
  private func hear(_ writers: inout [PlugWriter], until isStopped: () -> Bool, progress: (UInt64) -> Void) throws(CrashError) {
    var heard: UInt64 = 0
    while !isStopped() {
      guard writers.contains(where: { !$0.isAtEnd }) else {
        throw CrashError(.environment, "no plug was pulled", why: "all engines have written what a round asks for, or have given up")
      }
      let ready = Libc.areReadable([connection.descriptor] + writers.map { $0.isAtEnd ? -1 : $0.writer.output }, milliseconds: 5)
      // A witness that is content says nothing.
      if ready[0] {
        _ = try connection.receive()
        throw CrashError(.environment, "the witness is not understood", why: "it spoke without being asked")
      }
      var lines: [WitnessLine] = []
      for (index, isReady) in ready.dropFirst().enumerated() {
        if isReady, let line = try writers[index].hear(plan.eventCount, say) {
          heard += 1
          lines.append(line)
        }
        writers[index].keepPace(plan.eventsPerSecond)
      }
      if !lines.isEmpty { try connection.send(lines) }
      progress(heard)
    }
  }
}

/// One engine that writes until the plug is pulled.
private struct PlugWriter {
  let engine: String
  let writer: Writer
  /// What was passed on.
  private var sent: UInt64 = 0
  private var isPaused = false
  private(set) var isAtEnd = false

  init(_ engine: String, _ writer: Writer) {
    self.engine = engine
    self.writer = writer
  }

  /// Takes what has come out of it; returns what is new, for the witness.
  mutating func hear(_ count: UInt64, _ say: (String) -> Void) throws(CrashError) -> WitnessLine? {
    writer.takeAcknowledgements()
    guard writer.acknowledged <= count else {
      throw CrashError(.environment, "the engine is not understood", place: engine, why: "it acknowledges events that it was not given")
    }
    if writer.isAtEnd {
      isAtEnd = true
      let complaint = writer.complaint()
      if !complaint.isEmpty { say("\(engine): gave up: \(complaint)") }
    }
    guard writer.acknowledged > sent else { return nil }
    sent = writer.acknowledged
    return .acknowledged(engine: engine, events: sent)
  }

  /// Holds it up if it is too fast. What it has acknowledged was heard by then, so that nothing is told late.
  mutating func keepPace(_ eventsPerSecond: UInt64) {
    let isAhead = writer.acknowledged > (Libc.now() - writer.start) / 1000 * eventsPerSecond / 1_000_000 + eventsPerSecond / 10
    guard isAhead != isPaused, !isAtEnd else { return }
    isPaused = isAhead
    if isAhead { writer.child.pause() } else { writer.child.goOn() }
  }

  func end() { writer.kill() }
}
