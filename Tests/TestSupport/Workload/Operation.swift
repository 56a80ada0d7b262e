/// One step of a workload. Lengths are of event data, in bytes.
package enum Operation: Sendable, Hashable {
  case append(byteCount: Int)
  /// At the highest durability, whatever the log's own.
  case appendSynced(byteCount: Int)
  case batch(count: Int, byteCount: Int)
  /// The event that was acknowledged so many events ago, once more: must be answered with its offset.
  case duplicate(back: Int)
  /// Its id with other content: must be refused.
  case conflict(back: Int)
  /// With an expected size that is right, or too low and must be refused.
  case expectingSize(isRight: Bool, byteCount: Int)
  /// The last batch whose outcome is unknown or that was lost, once more.
  case retry
  /// A control event, to go along with the next commit.
  case stage(byteCount: Int)
  case sync
  case recordDurable
  case roll
  case seal
  /// Below so many percent of the size.
  case trim(percent: Int)
  case suspend
  /// Close and open.
  case reopen
  /// The kernel writes some of the unsynced sectors by itself.
  case writeBack
}

/// How often each kind of operation comes, in parts.
package struct OperationMix: Sendable {
  package var parts: [(Int, @Sendable (inout SeededRandom) -> Operation)]

  package init(_ parts: [(Int, @Sendable (inout SeededRandom) -> Operation)]) { self.parts = parts }

  /// Everything that an engine is asked to do, appends most.
  package static let everything = OperationMix([
    (30, { .append(byteCount: small(&$0)) }),
    (12, { .append(byteCount: acrossSectors(&$0)) }),
    (12, { .batch(count: $0.number(in: 2...6), byteCount: small(&$0)) }),
    (3, { .batch(count: $0.number(in: 2...3), byteCount: acrossSectors(&$0)) }),
    (3, { .appendSynced(byteCount: small(&$0)) }),
    (4, { .duplicate(back: $0.number(in: 0...5)) }),
    (2, { .conflict(back: $0.number(in: 0...5)) }),
    (3, { .expectingSize(isRight: $0.isOneIn(2), byteCount: small(&$0)) }),
    (3, { _ in .retry }),
    (2, { .stage(byteCount: $0.number(in: 0...40)) }),
    (4, { _ in .sync }),
    (2, { _ in .recordDurable }),
    (5, { _ in .roll }),
    (3, { _ in .seal }),
    (2, { .trim(percent: $0.number(in: 10...100)) }),
    (1, { _ in .suspend }),
    (5, { _ in .reopen }),
    (4, { _ in .writeBack }),
  ])

  /// Appends and what makes new files: the shortest way to most recovery bugs.
  package static let appendsAndRolls = OperationMix([
    (6, { .append(byteCount: small(&$0)) }),
    (2, { .append(byteCount: acrossSectors(&$0)) }),
    (3, { .batch(count: $0.number(in: 2...4), byteCount: small(&$0)) }),
    (2, { _ in .roll }),
    (1, { _ in .reopen }),
  ])

  /// From nothing to most of a sector.
  package static func small(_ random: inout SeededRandom) -> Int { random.isOneIn(12) ? 0 : random.number(in: 1...300) }
  /// Two to five sectors.
  package static func acrossSectors(_ random: inout SeededRandom) -> Int { random.number(in: 600...2400) }

  package func operation(using random: inout SeededRandom) -> Operation {
    var part = random.number(below: parts.reduce(0) { $0 + $1.0 })
    for (weight, make) in parts {
      if part < weight { return make(&random) }
      part -= weight
    }
    return .sync
  }

  /// A workload that follows from the seed.
  package func workload(seed: UInt64, count: Int) -> [Operation] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in operation(using: &random) }
  }
}

/// Every workload of 1 to `longest` operations of an alphabet, shortest first.
package struct EveryWorkload: Sendable, Sequence {
  package let alphabet: [Operation]
  package let longest: Int

  package init(of alphabet: [Operation], upTo longest: Int) {
    self.alphabet = alphabet
    self.longest = longest
  }

  /// An alphabet whose letters leave few unsynced sectors each, so that every subset can be tried.
  package static let smallAlphabet: [Operation] = [
    .append(byteCount: 40), .append(byteCount: 600), .batch(count: 2, byteCount: 30), .roll, .seal, .trim(percent: 100), .reopen, .sync,
  ]

  package var count: Int {
    var count = 0
    var power = 1
    for _ in 0..<longest {
      power *= alphabet.count
      count += power
    }
    return count
  }

  /// The workload with a number from 0 up to `count`: a run names it by that.
  package subscript(index: Int) -> [Operation] {
    var rest = index
    var length = 1
    var power = alphabet.count
    while rest >= power {
      rest -= power
      power *= alphabet.count
      length += 1
    }
    var workload: [Operation] = []
    for _ in 0..<length {
      workload.append(alphabet[rest % alphabet.count])
      rest /= alphabet.count
    }
    return workload
  }

  package func makeIterator() -> some IteratorProtocol<[Operation]> { (0..<count).lazy.map { self[$0] }.makeIterator() }
}
