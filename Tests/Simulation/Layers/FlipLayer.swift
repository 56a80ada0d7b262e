import TestSupport
import TidemarkLog

/// Every bit of every byte of every kind of file turned over, every file cut at every length, segments deleted, doubled and swapped.
///
/// Damage is never silent (I11): refusing to open says so, checking says so, reading says so; no event is ever served otherwise than it was
/// appended; and a writer with the quarantine policy goes on, with everything served that the damage did not touch.
struct FlipLayer: Layer {
  static let name = "flip"
  /// Bytes of a file in one piece of work.
  private static let blockByteCount = 32

  let seed: UInt64
  /// Whether the quarantine writer is tried with every bit, or with one bit of each byte.
  let isThorough: Bool
  private let specimens: [Specimen]
  private let pieces: [Work]

  private enum Work {
    case block(specimen: Int, subject: Int, start: Int)
    case segments(specimen: Int)
  }

  init(seed: UInt64, isThorough: Bool) throws {
    self.seed = seed
    self.isThorough = isThorough
    let specimens = try Specimen.Kind.allCases.map { try Specimen($0, seed: splitMix(seed &+ UInt64($0.rawValue))) }
    var pieces: [Work] = []
    for (index, specimen) in specimens.enumerated() {
      for (subjectIndex, subject) in specimen.subjects.enumerated() where Self.isOfInterest(subject, specimen) {
        for start in stride(from: 0, to: subject.byteCount, by: Self.blockByteCount) {
          pieces.append(.block(specimen: index, subject: subjectIndex, start: start))
        }
      }
    }
    // So that a short run sees something of every file.
    var random = SeededRandom(seed: seed)
    pieces.shuffle(using: &random)
    // First what only its own frames vouch for: nothing pins the newest segment, and no footer has its digest.
    let split = pieces.partition { !Self.isInNewestFrames($0, specimens) }
    self.specimens = specimens
    self.pieces = specimens.indices.map { .segments(specimen: $0) } + pieces[..<split] + pieces[split...]
  }

  /// Each kind of file once: the specimens have several of some.
  private static func isOfInterest(_ subject: Specimen.Subject, _ specimen: Specimen) -> Bool {
    specimen.kind == .closed || subject.isIndex || subject.isNewest
  }

  private static func isInNewestFrames(_ work: Work, _ specimens: [Specimen]) -> Bool {
    guard case .block(let specimen, let index, let start) = work else { return false }
    let subject = specimens[specimen].subjects[index]
    guard subject.isNewest, let first = subject.frames.first, let last = subject.frames.last else { return false }
    return start >= first.position && start <= last.position
  }

  var count: Int? { pieces.count }
  var notes: String { "bytes=\(byteCount) quarantine=\(isThorough ? "every_bit" : "one_bit_a_byte")" }

  private var byteCount: Int {
    specimens.reduce(0) { sum, specimen in
      sum + specimen.subjects.filter { Self.isOfInterest($0, specimen) }.reduce(0) { $0 + $1.byteCount }
    }
  }

  func run(_ number: Int, into piece: inout Piece) throws {
    switch pieces[number] {
    case .block(let index, let subjectIndex, let start):
      let specimen = specimens[index]
      let subject = specimen.subjects[subjectIndex]
      for byte in start..<min(start + Self.blockByteCount, subject.byteCount) {
        for bit in 0..<8 {
          try check(.flip(byte: byte, bit: bit), subject, specimen, quarantines: isThorough || bit == byte & 7, &piece)
        }
        try check(.cut(byteCount: byte), subject, specimen, quarantines: true, &piece)
      }
    case .segments(let index):
      for damage in SegmentDamage.all(specimens[index]) {
        piece.note("\(damage)")
        piece.states += 1
        piece.counts["segments", default: 0] += 1
        var image = specimens[index].image
        try damage.apply(to: &image, specimens[index])
        try DamageCheck(specimens[index], image, damage.expectation).run(quarantines: true, &piece)
      }
    }
  }

  private enum Damage {
    case flip(byte: Int, bit: Int)
    case cut(byteCount: Int)
  }

  private func check(
    _ damage: Damage, _ subject: Specimen.Subject, _ specimen: Specimen, quarantines: Bool, _ piece: inout Piece
  ) throws {
    var image = specimen.image
    var expectation = Expectation(mayLose: subject.offsets)
    expectation.mayLoseTail = subject.isNewest
    piece.states += 1
    switch damage {
    case .flip(let byte, let bit):
      piece.note("\(subject.path): bit \(bit) of byte \(byte) turned over, of \(subject.byteCount) bytes")
      try image.flipBit(byte * 8 + bit, of: subject.path)
      // Only the frame that the bit is in.
      if let frame = subject.frames.last(where: { $0.position <= byte }), subject.path.hasSuffix(".open") {
        expectation.mayLose = frame.offsets
      }
      if byte >= subject.end {
        piece.counts["abandoned_bytes", default: 0] += 1
        expectation = Expectation(mayLose: 0..<0, mustBeSeen: false)
      } else {
        piece.counts["flips", default: 0] += 1
      }
    case .cut(let byteCount):
      piece.note("\(subject.path): cut to \(byteCount) of \(subject.byteCount) bytes")
      piece.counts["cuts", default: 0] += 1
      try image.setContents(of: subject.path, to: Array((specimen.image.contents(of: subject.path) ?? []).prefix(byteCount)))
      if subject.isNewest {
        // A newest segment cut behind one of its frames is an earlier state of the log. Only somebody outside can know better.
        expectation.mayRollBack = true
      } else if byteCount >= subject.end {
        expectation = Expectation(mayLose: 0..<0, mustBeSeen: false)
      }
    }
    try DamageCheck(specimen, image, expectation).run(quarantines: quarantines, &piece)
  }
}
