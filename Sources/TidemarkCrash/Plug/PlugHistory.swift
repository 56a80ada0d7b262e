/// All rounds of a run, as the witness keeps them. Both ends build it from the same lines.
package struct PlugHistory: Equatable, Sendable {
  package struct Writer: Equatable, Sendable {
    package var engine: String
    package var batch: UInt64
    /// How many events it was to write.
    package var count: UInt64
    /// Events below it were acknowledged, as far as the witness heard in time.
    package var acknowledged: UInt64 = 0
    package var result: PlugResult?
  }

  package struct Round: Equatable, Sendable {
    package var boot: String
    package var writers: [Writer] = []
    /// Whether all writers are named, so that they may write.
    package var isBegun = false
    package var isJudged = false

    /// Whether anything was lost: else nothing shows that the power was cut.
    package var isPull: Bool { isJudged && writers.contains { $0.result?.isClean == false } }
  }

  /// The first one is round 1. One that was not judged when the next began counts as nothing.
  package private(set) var rounds: [Round] = []

  package static let roundLimit = 10_000
  package static let writerLimit = 64
  package static let eventLimit: UInt64 = 10_000_000

  package init() {}

  /// The round that was begun last and is not judged.
  package var pending: Round? { rounds.last.flatMap { $0.isBegun && !$0.isJudged ? $0 : nil } }

  /// Takes in a line; returns why it does not fit, if it does not.
  package mutating func take(_ line: WitnessLine) -> String? {
    if case .round(let number, let boot) = line {
      guard rounds.count < Self.roundLimit else { return "a run has at most \(Self.roundLimit) rounds" }
      guard number == UInt64(rounds.count + 1) else { return "the next round is \(rounds.count + 1)" }
      rounds.append(Round(boot: boot))
      return nil
    }
    guard var round = rounds.popLast() else { return "there is no round yet" }
    defer { rounds.append(round) }
    return Self.take(line, &round)
  }

  private static func take(_ line: WitnessLine, _ round: inout Round) -> String? {
    switch line {
    case .writer(let engine, let batch, let count):
      guard !round.isBegun else { return "the round has begun" }
      guard round.writers.count < writerLimit else { return "a round has at most \(writerLimit) writers" }
      guard (1...1000).contains(batch), (1...eventLimit).contains(count) else { return "that number can't be" }
      guard !round.writers.contains(where: { $0.engine == engine }) else { return "that engine writes already" }
      round.writers.append(Writer(engine: engine, batch: batch, count: count))
    case .begin:
      guard !round.isBegun, !round.writers.isEmpty else { return "there is nothing to begin" }
      round.isBegun = true
    case .acknowledged(let engine, let events):
      guard round.isBegun, !round.isJudged else { return "no engine writes now" }
      guard let index = round.writers.firstIndex(where: { $0.engine == engine }) else { return "that engine does not write" }
      guard events > round.writers[index].acknowledged, events <= round.writers[index].count else { return "that number can't be" }
      round.writers[index].acknowledged = events
    case .result(let engine, let result):
      guard round.isBegun, !round.isJudged else { return "there is nothing to judge" }
      guard let index = round.writers.firstIndex(where: { $0.engine == engine }) else { return "that engine did not write" }
      round.writers[index].result = result
    case .judged:
      guard round.isBegun, !round.isJudged else { return "there is nothing to judge" }
      guard round.writers.allSatisfy({ $0.result != nil }) else { return "a result is missing" }
      round.isJudged = true
    default:
      return "that is not for here"
    }
    return nil
  }

  /// The lines that make the same history.
  package var lines: [WitnessLine] {
    var lines: [WitnessLine] = []
    for (index, round) in rounds.enumerated() {
      lines.append(.round(number: UInt64(index + 1), boot: round.boot))
      for writer in round.writers { lines.append(.writer(engine: writer.engine, batch: writer.batch, count: writer.count)) }
      guard round.isBegun else { continue }
      lines.append(.begin)
      for writer in round.writers where writer.acknowledged > 0 {
        lines.append(.acknowledged(engine: writer.engine, events: writer.acknowledged))
      }
      for writer in round.writers { if let result = writer.result { lines.append(.result(engine: writer.engine, result)) } }
      if round.isJudged { lines.append(.judged) }
    }
    return lines
  }
}
