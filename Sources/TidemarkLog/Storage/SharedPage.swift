internal import CPlatform

/// One page of memory that several processes may share: words that are read and written whole, and a word to wait on.
///
/// Unchecked, because the pointer is never changed after `init` and every access is atomic.
@safe package final class SharedPage: @unchecked Sendable {
  package static let byteCount = 4096

  private let pointer: UnsafeMutableRawPointer
  private let release: @Sendable (UnsafeMutableRawPointer) -> Void

  /// Takes a mapped page over; `release` unmaps it.
  init(mapped pointer: UnsafeMutableRawPointer, release: @escaping @Sendable (UnsafeMutableRawPointer) -> Void) {
    unsafe self.pointer = pointer
    unsafe self.release = release
  }

  /// A page of zeros that only this process has.
  package convenience init() {
    let pointer = UnsafeMutableRawPointer.allocate(byteCount: Self.byteCount, alignment: 8)
    unsafe pointer.initializeMemory(as: UInt8.self, repeating: 0, count: Self.byteCount)
    unsafe self.init(mapped: pointer) { unsafe $0.deallocate() }
  }

  deinit { unsafe release(pointer) }

  package func load64(_ position: Int) -> UInt64 { unsafe tidemark_load64((pointer + position).assumingMemoryBound(to: UInt64.self)) }

  package func store64(_ value: UInt64, at position: Int) {
    unsafe tidemark_store64((pointer + position).assumingMemoryBound(to: UInt64.self), value)
  }

  package func load32(_ position: Int) -> UInt32 { unsafe tidemark_load32((pointer + position).assumingMemoryBound(to: UInt32.self)) }

  package func increment32(_ position: Int) {
    _ = unsafe tidemark_add32((pointer + position).assumingMemoryBound(to: UInt32.self), 1)
  }

  /// Waits until the word differs from `value`, someone calls ``wake(_:)``, or the time is over. May return early.
  package func wait(_ position: Int, while value: UInt32, nanoseconds: Int64) {
    unsafe tidemark_wait((pointer + position).assumingMemoryBound(to: UInt32.self), value, nanoseconds)
  }

  package func wake(_ position: Int) {
    unsafe tidemark_wake_all((pointer + position).assumingMemoryBound(to: UInt32.self))
  }
}
