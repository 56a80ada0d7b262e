/// Takes a fuzzer's input apart, value by value. Behind its end everything is zero, so every input means something.
struct Input {
  private let bytes: [UInt8]
  private var at = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { at >= bytes.count }

  mutating func u8() -> UInt8 {
    guard at < bytes.count else { return 0 }
    at += 1
    return bytes[at - 1]
  }

  mutating func u16() -> UInt16 { UInt16(u8()) | UInt16(u8()) << 8 }
  mutating func u32() -> UInt32 { UInt32(u16()) | UInt32(u16()) << 16 }
  mutating func u64() -> UInt64 { UInt64(u32()) | UInt64(u32()) << 32 }

  /// Up to `count` bytes: what is left, if that is less.
  mutating func take(_ count: Int) -> [UInt8] {
    let end = min(bytes.count, at + count)
    defer { at = end }
    return Array(bytes[min(at, end)..<end])
  }

  mutating func rest() -> [UInt8] { take(bytes.count) }
}

/// Bytes in which runs of zeros are short. Files of a log are mostly zeros, and a small input is mutated better.
///
/// A byte below 0x80 stands before so many literal bytes and one; a byte of 0x80 and more, with the next one, is a number of zeros less
/// one: seven bits above eight.
enum Packed {
  static func pack(_ bytes: [UInt8]) -> [UInt8] {
    var packed: [UInt8] = []
    var literal: [UInt8] = []
    func flush() {
      var rest = literal[...]
      while !rest.isEmpty {
        packed.append(UInt8(min(rest.count, 128) - 1))
        packed += rest.prefix(128)
        rest = rest.dropFirst(128)
      }
      literal.removeAll()
    }
    var at = 0
    while at < bytes.count {
      var run = 0
      while run < 32768, at + run < bytes.count, bytes[at + run] == 0 { run += 1 }
      if run > 3 {
        flush()
        packed.append(0x80 | UInt8((run - 1) >> 8))
        packed.append(UInt8((run - 1) & 0xFF))
        at += run
      } else {
        literal.append(bytes[at])
        at += 1
      }
    }
    flush()
    return packed
  }

  static func unpack(_ packed: [UInt8], limit: Int) -> [UInt8] {
    var input = Input(packed)
    var bytes: [UInt8] = []
    while !input.isAtEnd, bytes.count < limit {
      let token = input.u8()
      if token < 0x80 {
        bytes += input.take(Int(token) + 1)
      } else {
        bytes += repeatElement(0, count: (Int(token & 0x7F) << 8 | Int(input.u8())) + 1)
      }
    }
    return bytes.count > limit ? Array(bytes[..<limit]) : bytes
  }
}

// Set once, before the first input is run: whether steps are told as they are made.
nonisolated(unsafe) var explains = false

/// Says which rule was broken, and traps, so that the fuzzer keeps the input.
func violated(_ rule: String) -> Never { fatalError("violated: \(rule)") }

func require(_ holds: Bool, _ rule: @autoclosure () -> String) {
  if !holds { violated(rule()) }
}
