internal import CLZ4

/// How hard sealing works to save space.
public enum Compression: Sendable {
  /// LZ4's high-compression mode: about a fifth smaller than ``fast``, 40 to 100 MB/s, read back as fast.
  case high
  /// LZ4's ordinary mode: several hundred MB/s.
  case fast
  /// Frames are stored as they are.
  case none
}

/// LZ4 blocks, from the lz4 library.
///
/// Unchecked: each instance has one owner at a time.
@safe package final class LZ4Compressor: @unchecked Sendable {
  private let level: Compression
  private let state: UnsafeMutableRawPointer

  package init(_ level: Compression) {
    self.level = level
    let count = level == .high ? LZ4_sizeofStateHC() : LZ4_sizeofState()
    unsafe state = .allocate(byteCount: Int(count), alignment: 16)
  }

  deinit { unsafe state.deallocate() }

  /// Compresses into `target`, which is made long enough. Returns the compressed length, or nil if that would not be smaller.
  package func compress(_ bytes: RawSpan, into target: inout [UInt8]) -> Int? {
    guard level != .none, bytes.byteCount > 16 else { return nil }
    if target.count < bytes.byteCount { target = [UInt8](repeating: 0, count: bytes.byteCount) }
    let written = unsafe bytes.withUnsafeBytes { source in
      unsafe target.withUnsafeMutableBytes { target in
        let from = unsafe source.baseAddress?.assumingMemoryBound(to: CChar.self)
        let to = unsafe target.baseAddress?.assumingMemoryBound(to: CChar.self)
        let (length, room) = (Int32(source.count), Int32(source.count - 1))
        if level == .high { return unsafe LZ4_compress_HC_extStateHC(state, from, to, length, room, LZ4HC_CLEVEL_DEFAULT) }
        return unsafe LZ4_compress_fast_extState(state, from, to, length, room, 1)
      }
    }
    return written > 0 ? Int(written) : nil
  }
}

/// Decompresses the beginning of a block: at least so many bytes. Returns how many; nil if it is not what it should be.
package func decompressLZ4(beginningOf bytes: RawSpan, into target: inout [UInt8], byteCount: Int) -> Int? {
  if target.count < byteCount { target = [UInt8](repeating: 0, count: byteCount) }
  let written = unsafe bytes.withUnsafeBytes { source in
    unsafe target.withUnsafeMutableBytes { target in
      unsafe LZ4_decompress_safe_partial(
        source.baseAddress?.assumingMemoryBound(to: CChar.self), target.baseAddress?.assumingMemoryBound(to: CChar.self),
        Int32(source.count), Int32(byteCount), Int32(byteCount))
    }
  }
  return written < byteCount ? nil : Int(written)
}

/// Decompresses a block of which the uncompressed length is known. False if it is not what it should be.
package func decompressLZ4(_ bytes: RawSpan, into target: inout [UInt8], rawLength: Int) -> Bool {
  if target.count < rawLength { target = [UInt8](repeating: 0, count: rawLength) }
  let written = unsafe bytes.withUnsafeBytes { source in
    unsafe target.withUnsafeMutableBytes { target in
      unsafe LZ4_decompress_safe(
        source.baseAddress?.assumingMemoryBound(to: CChar.self), target.baseAddress?.assumingMemoryBound(to: CChar.self),
        Int32(source.count), Int32(rawLength))
    }
  }
  return Int(written) == rawLength
}
