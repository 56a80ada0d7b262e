extension Array where Element == UInt8 {
  /// Copies a span.
  package init(copying span: Span<UInt8>) {
    self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
  }

  package mutating func append(_ span: Span<UInt8>) {
    unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }

  package mutating func append(_ text: String) {
    append(text.utf8Span.span)
  }
}

extension String {
  /// The text of valid UTF-8, or nil.
  package init?(utf8 span: Span<UInt8>) {
    guard let text = try? UTF8Span(validating: span) else { return nil }
    self.init(copying: text)
  }
}

extension RawSpan {
  /// The same bytes, element by element.
  package var bytes: Span<UInt8> { @_lifetime(copy self) get { Span<UInt8>(_bytes: self) } }
}

extension Span where Element == UInt8 {
  /// Whether the bytes are the same.
  package func equals(_ other: Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for index in 0..<count where self[index] != other[index] { return false }
    return true
  }

  /// Eight bytes from a position on, the first the lowest. Its bounds are checked.
  @inline(__always) func word(at position: Int) -> UInt64 {
    unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
  }
}
