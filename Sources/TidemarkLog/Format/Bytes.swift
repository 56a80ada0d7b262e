internal import CPlatform

// Little-endian loads and stores, each with its bounds checked. All parsing goes through these.

extension RawSpan {
  // `unsafeLoadUnaligned` checks its bounds; it is called unsafe because of the type, and these are integers.
  @inlinable @inline(__always) package func u8(_ position: Int) -> UInt8 {
    unsafe unsafeLoadUnaligned(fromByteOffset: position, as: UInt8.self)
  }
  @inlinable @inline(__always) package func u16(_ position: Int) -> UInt16 {
    unsafe UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: position, as: UInt16.self))
  }
  @inlinable @inline(__always) package func u32(_ position: Int) -> UInt32 {
    unsafe UInt32(littleEndian: unsafeLoadUnaligned(fromByteOffset: position, as: UInt32.self))
  }
  @inlinable @inline(__always) package func u64(_ position: Int) -> UInt64 {
    unsafe UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
  }
  @inlinable @inline(__always) package func i16(_ position: Int) -> Int16 { Int16(bitPattern: u16(position)) }
  @inlinable @inline(__always) package func i64(_ position: Int) -> Int64 { Int64(bitPattern: u64(position)) }

  /// Sixteen bytes in the order in which a UUID is written.
  @inline(__always) package func id(_ position: Int) -> EventID {
    EventID(high: u64(position).byteSwapped, low: u64(position + 8).byteSwapped)
  }

  package func digest(_ position: Int) -> Digest128 { Digest128(low: u64(position), high: u64(position + 8)) }

  @inlinable @inline(__always) @_lifetime(copy self) package func slice(_ position: Int, _ count: Int) -> RawSpan {
    extracting(position..<(position + count))
  }

  package func array() -> [UInt8] { unsafe withUnsafeBytes { unsafe [UInt8]($0) } }

  /// UTF-8 text; what is not valid is shown as U+FFFD.
  package func text() -> String { unsafe withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }

  /// Whether all bytes from `position` on are zero.
  package func isZero(from position: Int = 0) -> Bool {
    var at = position
    while at + 8 <= byteCount {
      if u64(at) != 0 { return false }
      at += 8
    }
    while at < byteCount {
      if u8(at) != 0 { return false }
      at += 1
    }
    return true
  }

  package func equals(_ other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    return unsafe withUnsafeBytes { left in
      unsafe other.withUnsafeBytes { right in
        guard let first = left.baseAddress, let second = right.baseAddress else { return true }
        return unsafe memcmp(first, second, left.count) == 0
      }
    }
  }
}

extension RawSpan {
  /// Whether it comes first in the order of bytes.
  package func precedes(_ other: RawSpan) -> Bool {
    let order = unsafe withUnsafeBytes { left in
      unsafe other.withUnsafeBytes { right in
        guard let first = left.baseAddress, let second = right.baseAddress else { return Int32(0) }
        return unsafe memcmp(first, second, min(left.count, right.count))
      }
    }
    return order == 0 ? byteCount < other.byteCount : order < 0
  }
}

extension MutableRawSpan {
  @inline(__always) mutating func store(_ value: some FixedWidthInteger & BitwiseCopyable, at position: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: position, as: type(of: value))
  }
}

extension [UInt8] {
  mutating func withMutableSpan<Result>(_ body: (inout MutableRawSpan) -> Result) -> Result {
    unsafe withUnsafeMutableBytes { buffer in
      var span = unsafe MutableRawSpan(_unsafeBytes: buffer)
      return body(&span)
    }
  }

  @inlinable package var rawSpan: RawSpan { @_lifetime(borrow self) get { unsafe span.bytes } }

  @inlinable @inline(__always) package mutating func store(_ value: some FixedWidthInteger & BitwiseCopyable, at position: Int) {
    unsafe withUnsafeMutableBytes { unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: position, as: type(of: value)) }
  }

  package mutating func store(_ id: EventID, at position: Int) {
    store(id.high.byteSwapped, at: position)
    store(id.low.byteSwapped, at: position + 8)
  }

  package mutating func store(_ digest: Digest128, at position: Int) {
    store(digest.low, at: position)
    store(digest.high, at: position + 8)
  }

  package mutating func store(_ bytes: RawSpan, at position: Int) {
    precondition(position >= 0 && position + bytes.byteCount <= count)
    unsafe bytes.withUnsafeBytes { source in
      unsafe withUnsafeMutableBytes { target in
        guard let from = source.baseAddress, let to = target.baseAddress else { return }
        unsafe (to + position).copyMemory(from: from, byteCount: source.count)
      }
    }
  }

  // Appending, for structures of variable length.

  @inlinable @inline(__always) package mutating func add(_ value: some FixedWidthInteger & BitwiseCopyable) {
    unsafe Swift.withUnsafeBytes(of: value.littleEndian) { unsafe append(contentsOf: $0) }
  }

  package mutating func add(_ id: EventID) {
    add(id.high.byteSwapped)
    add(id.low.byteSwapped)
  }

  package mutating func add(_ bytes: RawSpan) { unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) } }

  /// One byte of length, then the text, cut to 255 bytes between characters.
  package mutating func addShortText(_ text: String) {
    let cut = text.utf8Prefix(255)
    append(UInt8(cut.utf8.count))
    append(contentsOf: cut.utf8)
  }
}

extension String {
  /// Its UTF-8.
  package var rawSpan: RawSpan { @_lifetime(borrow self) get { unsafe utf8Span.span.bytes } }

  /// The longest prefix of whole characters that takes at most `count` bytes of UTF-8.
  package func utf8Prefix(_ count: Int) -> Substring {
    guard utf8.count > count else { return self[...] }
    var end = startIndex
    var length = 0
    for index in indices {
      length += self[index].utf8.count
      if length > count { break }
      end = self.index(after: index)
    }
    return self[..<end]
  }
}
