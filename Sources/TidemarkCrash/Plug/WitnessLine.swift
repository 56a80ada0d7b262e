/// What a machine under test and its witness say to each other, one to a line: see `Specs/witness.md`.
package enum WitnessLine: Equatable, Sendable {
  /// From the machine: the version of the protocol.
  case hello(version: UInt64)
  /// Begins a run, which the witness must not know yet.
  case create(run: String)
  /// Goes on with a run; the witness answers with all that it knows of it, and `ok`.
  case resume(run: String)

  // What is kept of a run.

  /// A round, and the boot in which its engines write.
  case round(number: UInt64, boot: String)
  /// An engine that will write `count` events, so many at once.
  case writer(engine: String, batch: UInt64, count: UInt64)
  /// All writers of the round are named.
  case begin
  /// An engine has acknowledged the events below that number.
  case acknowledged(engine: String, events: UInt64)
  /// What was found of an engine after the round.
  case result(engine: String, PlugResult)
  /// All engines of the round were judged.
  case judged

  // From the witness.

  /// The name of the witness.
  case witness(name: String)
  case ok
  /// The line before was not taken, and the connection ends.
  case refused(why: String)

  /// A line with more bytes is refused, unread.
  package static let byteLimit = 256
  package static let version: UInt64 = 1

  /// Reads a line without its end; nil if it is not exactly one that ``text`` makes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.byteLimit, bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return nil }
    let line = String(decoding: bytes, as: UTF8.self)
    if line.hasPrefix("refused ") {
      self = .refused(why: String(line.dropFirst(8)))
      return
    }
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    let numbers = words.map(Self.number)
    switch (words[0], words.count) {
    case ("hello", 2):
      guard let version = numbers[1] else { return nil }
      self = .hello(version: version)
    case ("create", 2) where Self.isName(words[1]): self = .create(run: words[1])
    case ("resume", 2) where Self.isName(words[1]): self = .resume(run: words[1])
    case ("round", 3):
      guard let number = numbers[1], Self.isWord(words[2]) else { return nil }
      self = .round(number: number, boot: words[2])
    case ("writer", 4):
      guard Self.isWord(words[1]), let batch = numbers[2], let count = numbers[3] else { return nil }
      self = .writer(engine: words[1], batch: batch, count: count)
    case ("begin", 1): self = .begin
    case ("ack", 3):
      guard Self.isWord(words[1]), let events = numbers[2] else { return nil }
      self = .acknowledged(engine: words[1], events: events)
    case ("result", 2 + PlugResult.numberCount):
      let values = numbers.dropFirst(2).compactMap { $0 }
      guard Self.isWord(words[1]), let result = PlugResult(numbers: values) else { return nil }
      self = .result(engine: words[1], result)
    case ("judged", 1): self = .judged
    case ("witness", 2) where Self.isName(words[1]): self = .witness(name: words[1])
    case ("ok", 1): self = .ok
    default: return nil
    }
  }

  /// The line without its end.
  package var text: String {
    switch self {
    case .hello(let version): "hello \(version)"
    case .create(let run): "create \(run)"
    case .resume(let run): "resume \(run)"
    case .round(let number, let boot): "round \(number) \(boot)"
    case .writer(let engine, let batch, let count): "writer \(engine) \(batch) \(count)"
    case .begin: "begin"
    case .acknowledged(let engine, let events): "ack \(engine) \(events)"
    case .result(let engine, let result): "result \(engine) \(result.numbers.map(String.init).joined(separator: " "))"
    case .judged: "judged"
    case .witness(let name): "witness \(name)"
    case .ok: "ok"
    case .refused(let why): "refused \(why)"
    }
  }

  /// Lines as they are sent and kept.
  static func bytes(_ lines: [WitnessLine]) -> [UInt8] { lines.flatMap { Array($0.text.utf8) + [UInt8(ascii: "\n")] } }

  /// Whether it can name a run or a witness, and a file: 32 hexadecimal digits.
  package static func isName(_ word: String) -> Bool {
    word.utf8.count == 32 && word.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x61 && $0 <= 0x66) }
  }

  /// Whether it can name an engine or a boot: up to 64 letters, digits, dots, dashes, underscores.
  package static func isWord(_ word: String) -> Bool {
    let bytes = word.utf8
    return (1...64).contains(bytes.count)
      && bytes.allSatisfy { byte in
        (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5A) || (byte >= 0x61 && byte <= 0x7A)
          || [0x2D, 0x2E, 0x5F].contains(byte)
      }
  }

  /// Decimal digits without zeros in front, at most 15, so that no sum of them is too large.
  private static func number(_ word: String) -> UInt64? {
    let bytes = word.utf8
    guard (1...15).contains(bytes.count), bytes.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), bytes.count == 1 || bytes.first != 0x30 else {
      return nil
    }
    return UInt64(word)
  }
}

/// What was found of one engine after one round.
package struct PlugResult: Equatable, Sendable {
  /// Events that the witness had as acknowledged.
  package var atRisk: UInt64 = 0
  package var judgement = Judgement()
  /// Whether the store could not be opened, or not be read to its end.
  package var isUnopenable = false
  package var openingMicroseconds: UInt64 = 0

  package init() {}

  /// Whether anything is missing or wrong.
  var isClean: Bool { judgement.lost == 0 && judgement.isWhole && !isUnopenable }

  static let numberCount = 10

  init?(numbers: [UInt64]) {
    guard numbers.count == Self.numberCount, numbers[8] <= 1 else { return nil }
    atRisk = numbers[0]
    judgement.lost = Int(numbers[1])
    judgement.phantoms = Int(numbers[2])
    judgement.damaged = Int(numbers[3])
    judgement.duplicates = Int(numbers[4])
    judgement.gaps = Int(numbers[5])
    judgement.disordered = Int(numbers[6])
    judgement.tornBatches = Int(numbers[7])
    isUnopenable = numbers[8] == 1
    openingMicroseconds = numbers[9]
  }

  var numbers: [UInt64] {
    let counts = [
      judgement.lost, judgement.phantoms, judgement.damaged, judgement.duplicates, judgement.gaps, judgement.disordered,
      judgement.tornBatches,
    ]
    return [atRisk] + counts.map { UInt64($0) } + [isUnopenable ? 1 : 0, min(openingMicroseconds, 999_999_999_999_999)]
  }
}
