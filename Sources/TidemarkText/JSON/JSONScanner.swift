/// A strict check of JSON text (RFC 8259) that finds values without building any.
///
/// An imported line is stored byte for byte as it came, and a few values in it are looked at. The JSON decoders at hand turn numbers
/// into binary floating point, forget the order and the spelling of members, and don't tell where a value stood; hence this one. It goes
/// over the bytes once, checks everything (UTF-8 too), nests at most 512 deep, and notes the byte ranges of the values that pointers name.
///
/// ```swift
/// var scanner = JSONScanner(pointers: [try JSONPointer("/gate")])
/// let value = try scanner.scan(line.span)      // where the value stands, without white space around it
/// let gate = scanner.found[0]                  // where the pointer leads, or nil
/// ```
///
/// A name that an object has twice is legal; a pointer leads to the last.
package struct JSONScanner: Sendable {
  package static let depthLimit = 512

  /// At most 64, so that the pointers which still match are the bits of one word.
  package let pointers: [JSONPointer]
  /// For each pointer the byte range of its value in the last scan, quotes included.
  package private(set) var found: [Range<Int>?]
  private var at = 0
  /// Of the pointers' tokens at each depth, one row for each depth.
  private let prints: [Print]

  package init(pointers: [JSONPointer] = []) {
    precondition(pointers.count <= 64)
    self.pointers = pointers
    found = Array(repeating: nil, count: pointers.count)
    let deepest = pointers.reduce(0) { max($0, $1.tokens.count) }
    prints = (0..<deepest).flatMap { depth in
      pointers.map { pointer in
        guard pointer.tokens.count > depth else { return .none }
        let token = pointer.tokens[depth]
        return Print(token.span, token.indices)
      }
    }
  }

  /// Checks that `bytes` are one JSON value with white space around it at most, and returns where the value stands.
  package mutating func scan(_ bytes: Span<UInt8>) throws(TextError) -> Range<Int> {
    at = 0
    for index in found.indices { found[index] = nil }
    skipSpace(bytes)
    let start = at
    try value(bytes, depth: 0, wanted: pointers.isEmpty ? 0 : UInt64.max >> UInt64(64 - pointers.count))
    let end = at
    skipSpace(bytes)
    if at < bytes.count { throw TextError(at: at, "something follows the JSON value") }
    return start..<end
  }

  /// Whether `bytes` are JSON text.
  package static func isValid(_ bytes: Span<UInt8>) -> Bool {
    var scanner = JSONScanner()
    return (try? scanner.scan(bytes)) != nil
  }

  /// Calls `body` with the ranges of each member's name, quotes included, and value. `bytes` were scanned before, and `object` is an
  /// object in them.
  package static func forEachMember(
    of object: Range<Int>, in bytes: Span<UInt8>, _ body: (_ name: Range<Int>, _ value: Range<Int>) throws(TextError) -> Void
  ) throws(TextError) {
    var scanner = JSONScanner()
    scanner.at = object.lowerBound + 1
    scanner.skipSpace(bytes)
    while scanner.at < object.upperBound - 1 {
      let name = scanner.at
      try scanner.string(bytes)
      let nameEnd = scanner.at
      scanner.skipSpace(bytes)
      scanner.at += 1
      scanner.skipSpace(bytes)
      let value = scanner.at
      try scanner.value(bytes, depth: 1, wanted: 0)
      try body(name..<nameEnd, value..<scanner.at)
      scanner.skipSpace(bytes)
      scanner.at += 1
      scanner.skipSpace(bytes)
    }
  }

  /// Calls `body` with the range of each element. `bytes` were scanned before, and `array` is an array in them.
  package static func forEachElement(
    of array: Range<Int>, in bytes: Span<UInt8>, _ body: (_ element: Range<Int>) throws(TextError) -> Void
  ) throws(TextError) {
    var scanner = JSONScanner()
    scanner.at = array.lowerBound + 1
    scanner.skipSpace(bytes)
    while scanner.at < array.upperBound - 1 {
      let start = scanner.at
      try scanner.value(bytes, depth: 1, wanted: 0)
      try body(start..<scanner.at)
      scanner.skipSpace(bytes)
      scanner.at += 1
      scanner.skipSpace(bytes)
    }
  }

  // MARK: Values

  /// - Parameter wanted: the pointers, as bits, whose first `depth` tokens led here.
  private mutating func value(_ bytes: Span<UInt8>, depth: Int, wanted: UInt64) throws(TextError) {
    guard at < bytes.count else { throw TextError(at: at, "the JSON text ends where a value is due") }
    let start = at
    switch bytes[at] {
    case UInt8(ascii: "{"): try object(bytes, depth: depth + 1, wanted: wanted)
    case UInt8(ascii: "["): try array(bytes, depth: depth + 1, wanted: wanted)
    case UInt8(ascii: "\""): try string(bytes)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number(bytes)
    case UInt8(ascii: "t"): try literal(bytes, Self.trueWord)
    case UInt8(ascii: "f"): try literal(bytes, Self.falseWord)
    case UInt8(ascii: "n"): try literal(bytes, Self.nullWord)
    default: throw TextError(at: at, "no JSON value starts like this")
    }
    if wanted != 0 {
      for index in pointers.indices where wanted >> UInt64(index) & 1 == 1 && pointers[index].tokens.count == depth {
        found[index] = start..<at
      }
    }
  }

  private mutating func object(_ bytes: Span<UInt8>, depth: Int, wanted: UInt64) throws(TextError) {
    guard depth <= Self.depthLimit else { throw TextError(at: at, "nested deeper than \(Self.depthLimit) levels") }
    let opening = at
    at += 1
    skipSpace(bytes)
    if at < bytes.count, bytes[at] == UInt8(ascii: "}") {
      at += 1
      return
    }
    while true {
      guard at < bytes.count else { throw TextError(at: at, "the JSON text ends inside the object begun at byte \(opening + 1)") }
      guard bytes[at] == UInt8(ascii: "\"") else { throw TextError(at: at, "a member's name in quotes is due") }
      let name = at
      let isPlain = try string(bytes)
      let inner = wanted == 0 ? 0 : matching(bytes, name..<at, isPlain: isPlain, depth: depth, wanted: wanted)
      skipSpace(bytes)
      guard at < bytes.count, bytes[at] == UInt8(ascii: ":") else { throw TextError(at: at, "\":\" is due after a member's name") }
      at += 1
      skipSpace(bytes)
      try value(bytes, depth: depth, wanted: inner)
      if try endsList(bytes, UInt8(ascii: "}"), "the object", opening) { return }
    }
  }

  private mutating func array(_ bytes: Span<UInt8>, depth: Int, wanted: UInt64) throws(TextError) {
    guard depth <= Self.depthLimit else { throw TextError(at: at, "nested deeper than \(Self.depthLimit) levels") }
    let opening = at
    var index = 0
    at += 1
    skipSpace(bytes)
    if at < bytes.count, bytes[at] == UInt8(ascii: "]") {
      at += 1
      return
    }
    while true {
      var inner: UInt64 = 0
      if wanted != 0 {
        for pointer in pointers.indices where wanted >> UInt64(pointer) & 1 == 1 && pointers[pointer].tokens.count >= depth {
          if JSONPointer.index(pointers[pointer].tokens[depth - 1]) == index { inner |= 1 << UInt64(pointer) }
        }
      }
      try value(bytes, depth: depth, wanted: inner)
      index += 1
      if try endsList(bytes, UInt8(ascii: "]"), "the array", opening) { return }
    }
  }

  /// Goes over the comma, or the end, after a member or an element.
  private mutating func endsList(_ bytes: Span<UInt8>, _ end: UInt8, _ what: String, _ opening: Int) throws(TextError) -> Bool {
    skipSpace(bytes)
    guard at < bytes.count else { throw TextError(at: at, "the JSON text ends inside \(what) begun at byte \(opening + 1)") }
    if bytes[at] == end {
      at += 1
      return true
    }
    guard bytes[at] == UInt8(ascii: ",") else {
      throw TextError(at: at, "\",\" or \"\(Character(UnicodeScalar(end)))\" is due")
    }
    at += 1
    skipSpace(bytes)
    return false
  }

  /// The pointers of `wanted` whose token at this depth is the member's name. What an earlier member of that name gave is forgotten.
  private mutating func matching(_ bytes: Span<UInt8>, _ name: Range<Int>, isPlain: Bool, depth: Int, wanted: UInt64) -> UInt64 {
    var matching: UInt64 = 0
    if isPlain {
      let print = Print(bytes, name.lowerBound + 1..<name.upperBound - 1)
      let row = (depth - 1) * pointers.count
      guard row < prints.count else { return 0 }
      var rest = wanted
      while rest != 0 {
        let index = rest.trailingZeroBitCount
        rest &= rest - 1
        guard prints[row + index] == print, print.isWhole || isToken(bytes, name, index, depth) else { continue }
        matching |= 1 << UInt64(index)
        found[index] = nil
      }
      return matching
    }
    // A name that stands for no text matches nothing.
    guard let text = try? JSONString.decode(bytes, name) else { return 0 }
    for index in pointers.indices where wanted >> UInt64(index) & 1 == 1 && pointers[index].tokens.count >= depth {
      guard text.utf8.elementsEqual(pointers[index].tokens[depth - 1]) else { continue }
      matching |= 1 << UInt64(index)
      found[index] = nil
    }
    return matching
  }

  private func isToken(_ bytes: Span<UInt8>, _ name: Range<Int>, _ index: Int, _ depth: Int) -> Bool {
    let token = pointers[index].tokens[depth - 1]
    return bytes.extracting(name.lowerBound + 1..<name.upperBound - 1).equals(token.span)
  }

  /// Length and first bytes of a name: names that differ are told apart without a look at the rest.
  private struct Print: Equatable {
    var count: Int
    var first: UInt64 = 0

    /// Whether nothing of the name is left out.
    var isWhole: Bool { count <= 8 }

    init(_ bytes: Span<UInt8>, _ range: Range<Int>) {
      count = range.count
      for index in range.prefix(8) { first = first << 8 | UInt64(bytes[index]) }
    }

    /// What no name has.
    static var none: Print { Print(count: -1) }
    private init(count: Int) { self.count = count }
  }

  // MARK: Scalars

  /// Returns whether it has no escapes.
  @discardableResult
  private mutating func string(_ bytes: Span<UInt8>) throws(TextError) -> Bool {
    let opening = at
    var isPlain = true
    at += 1
    while true {
      skipPlain(bytes)
      guard at < bytes.count else { break }
      let byte = bytes[at]
      if byte == UInt8(ascii: "\"") {
        at += 1
        return isPlain
      }
      if byte == UInt8(ascii: "\\") {
        isPlain = false
        try escape(bytes)
      } else if byte < 0x20 {
        throw TextError(at: at, "a control character in a string is written as an escape")
      } else if byte < 0x80 {
        at += 1
      } else {
        let length = UTF8Check.sequenceLength(bytes, at)
        if length == 0 { throw TextError(at: at, "not valid UTF-8") }
        at += length
      }
    }
    throw TextError(at: at, "the JSON text ends inside the string begun at byte \(opening + 1)")
  }

  /// Goes over printable ASCII other than quotes and backslashes, eight bytes at a time. A high bit of `marks` may be set wrongly only
  /// behind one that is right (Warren, Hacker's Delight, "find first 0-byte").
  @inline(__always) private mutating func skipPlain(_ bytes: Span<UInt8>) {
    let (low, high) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
    while bytes.count &- at >= 8 {
      let word = bytes.word(at: at)
      let quote = word ^ (low &* 0x22)
      let backslash = word ^ (low &* 0x5C)
      let controls = (word &- low &* 0x20) & ~word
      let marks = (word | controls | (quote &- low) & ~quote | (backslash &- low) & ~backslash) & high
      if marks != 0 {
        at += marks.trailingZeroBitCount >> 3
        return
      }
      at += 8
    }
  }

  private mutating func escape(_ bytes: Span<UInt8>) throws(TextError) {
    guard at + 1 < bytes.count else { throw TextError(at: at, "the JSON text ends inside an escape") }
    switch bytes[at + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
      UInt8(ascii: "r"), UInt8(ascii: "t"):
      at += 2
    case UInt8(ascii: "u"):
      guard JSONString.hexadecimal(bytes, at + 2) != nil else { throw TextError(at: at, "\"\\u\" needs four hexadecimal digits") }
      at += 6
    default: throw TextError(at: at, "no such escape in JSON")
    }
  }

  private mutating func number(_ bytes: Span<UInt8>) throws(TextError) {
    if bytes[at] == UInt8(ascii: "-") { at += 1 }
    if at < bytes.count, bytes[at] == UInt8(ascii: "0") {
      at += 1
      if at < bytes.count, isDigit(bytes[at]) { throw TextError(at: at - 1, "a number does not start with a zero") }
    } else {
      try digits(bytes)
    }
    if at < bytes.count, bytes[at] == UInt8(ascii: ".") {
      at += 1
      try digits(bytes)
    }
    if at < bytes.count, bytes[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if at < bytes.count, bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") { at += 1 }
      try digits(bytes)
    }
  }

  private mutating func digits(_ bytes: Span<UInt8>) throws(TextError) {
    guard at < bytes.count, isDigit(bytes[at]) else { throw TextError(at: at, "a number lacks a digit") }
    while at < bytes.count, isDigit(bytes[at]) { at += 1 }
  }

  private func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  private static let trueWord = Array("true".utf8)
  private static let falseWord = Array("false".utf8)
  private static let nullWord = Array("null".utf8)

  private mutating func literal(_ bytes: Span<UInt8>, _ word: [UInt8]) throws(TextError) {
    guard at + word.count <= bytes.count, bytes.extracting(at..<at + word.count).equals(word.span) else {
      throw TextError(at: at, "only true, false and null are written without quotes")
    }
    at += word.count
  }

  private mutating func skipSpace(_ bytes: Span<UInt8>) {
    while at < bytes.count {
      switch bytes[at] {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): at += 1
      default: return
      }
    }
  }
}
