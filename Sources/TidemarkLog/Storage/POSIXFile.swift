internal import CPlatform

/// A file of the operating system.
///
/// Unchecked, because the descriptor changes only in `close()`, after which every call fails with `EBADF`.
final class POSIXFile: File, @unchecked Sendable {
  let path: String
  private var descriptor: Int32

  init(_ descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close() }

  func read(_ count: Int, at position: UInt64, into buffer: inout [UInt8], at index: Int) throws(LogError) -> Int {
    precondition(index >= 0 && count >= 0 && index + count <= buffer.count)
    var done = 0
    while done < count {
      let got = unsafe buffer.withUnsafeMutableBytes { bytes -> Int in
        guard let base = bytes.baseAddress else { return 0 }
        return unsafe pread(descriptor, base + index + done, count - done, off_t(clamping: position + UInt64(done)))
      }
      if got > 0 {
        done += got
      } else if got == 0 {
        break
      } else if lastErrno != EINTR {
        throw LogError(errno: lastErrno, "cannot read", path, position: position + UInt64(done))
      }
    }
    return done
  }

  func write(_ bytes: RawSpan, at position: UInt64) throws(LogError) {
    var done = 0
    while done < bytes.byteCount {
      let put = unsafe bytes.withUnsafeBytes { bytes -> Int in
        guard let base = bytes.baseAddress else { return 0 }
        return unsafe pwrite(descriptor, base + done, bytes.count - done, off_t(clamping: position + UInt64(done)))
      }
      if put > 0 {
        done += put
        continue
      }
      let code = put == 0 ? ENOSPC : lastErrno
      if code != EINTR { throw LogError(errno: code, "cannot write", path, position: position + UInt64(done)) }
    }
  }

  func sync() throws(LogError) {
    // Never repeated, not even after EINTR: a failed sync may have dropped the pages.
    if tidemark_sync_data(descriptor) != 0 { throw LogError(errno: lastErrno, "cannot sync", path) }
  }

  func startWriteback(at position: UInt64, count: Int) {
    tidemark_start_writeback(descriptor, off_t(clamping: position), off_t(count))
  }

  func byteCount() throws(LogError) -> UInt64 {
    let length = tidemark_file_length(descriptor)
    if length < 0 { throw LogError(errno: lastErrno, "cannot look at", path) }
    return UInt64(length)
  }

  func isDeleted() -> Bool { tidemark_is_deleted(descriptor) }

  func makeReadOnly() throws(LogError) {
    if fchmod(descriptor, 0o444) != 0 { throw LogError(errno: lastErrno, "cannot make read-only", path) }
  }

  func close() {
    if descriptor >= 0 { _ = tidemark_close(descriptor) }
    descriptor = -1
  }
}
