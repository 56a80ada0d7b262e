internal import CPlatform

/// The operating system's files.
package final class POSIXFileSystem: FileSystem {
  package init() {}

  package func open(_ path: String, _ mode: OpenMode) throws(LogError) -> any File {
    let flags: Int32 =
      switch mode {
      case .read: O_RDONLY | O_CLOEXEC
      case .write: O_RDWR | O_CLOEXEC
      case .create, .createPrivate: O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC
      }
    return POSIXFile(try Self.open(path, flags, permissions: mode == .createPrivate ? 0o600 : 0o644), path: path)
  }

  static func open(_ path: String, _ flags: Int32, permissions: mode_t = 0o644) throws(LogError) -> Int32 {
    while true {
      let descriptor = unsafe tidemark_open(path, flags, permissions)
      if descriptor >= 0 { return descriptor }
      let code = lastErrno
      if code != EINTR { throw LogError(errno: code, "cannot open", path) }
    }
  }

  package func list(_ directory: String) throws(LogError) -> [String] {
    guard let stream = unsafe opendir(directory) else { throw LogError(errno: lastErrno, "cannot list", directory) }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while true {
      tidemark_clear_errno()
      guard let entry = unsafe readdir(stream) else {
        let code = lastErrno
        if code != 0 { throw LogError(errno: code, "cannot list", directory) }
        return names
      }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
  }

  package func status(_ path: String) throws(LogError) -> FileStatus? {
    var status = stat()
    if unsafe stat(path, &status) == 0 {
      return FileStatus(
        isDirectory: Int32(status.st_mode) & S_IFMT == S_IFDIR, byteCount: UInt64(max(0, status.st_size)), device: UInt64(status.st_dev),
        inode: UInt64(status.st_ino), isPrivate: status.st_mode & 0o077 == 0)
    }
    let code = lastErrno
    if code == ENOENT { return nil }
    throw LogError(errno: code, "cannot look at", path)
  }

  package func makeDirectory(_ path: String) throws(LogError) { try Self.makeDirectory(path, permissions: 0o755) }
  package func makePrivateDirectory(_ path: String) throws(LogError) { try Self.makeDirectory(path, permissions: 0o700) }

  private static func makeDirectory(_ path: String, permissions: mode_t) throws(LogError) {
    if unsafe mkdir(path, permissions) != 0 { throw LogError(errno: lastErrno, "cannot make the directory", path) }
  }

  package func rename(_ path: String, to newPath: String) throws(LogError) {
    if unsafe tidemark_rename(path, newPath) != 0 { throw LogError(errno: lastErrno, "cannot rename", path) }
  }

  package func remove(_ path: String) throws(LogError) {
    if unsafe unlink(path) != 0 { throw LogError(errno: lastErrno, "cannot remove", path) }
  }

  package func removeDirectory(_ path: String) throws(LogError) {
    if unsafe rmdir(path) != 0 { throw LogError(errno: lastErrno, "cannot remove the directory", path) }
  }

  package func syncDirectory(_ path: String) throws(LogError) {
    let descriptor = try Self.open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
    defer { _ = tidemark_close(descriptor) }
    if fsync(descriptor) != 0 { throw LogError(errno: lastErrno, "cannot sync the directory", path) }
  }

  package func lock(_ path: String, holder: String) throws(LogError) -> any FileLock {
    let descriptor = try Self.open(path, O_RDWR | O_CREAT | O_CLOEXEC)
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let code = lastErrno
      if code == EINTR { continue }
      defer { _ = tidemark_close(descriptor) }
      guard code == EWOULDBLOCK else { throw LogError(errno: code, "cannot lock", path) }
      var text = [UInt8](repeating: 0, count: 256)
      let count = unsafe text.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
      let name = count > 0 ? String(decoding: text[..<count], as: UTF8.self).split(separator: "\n").first.map(String.init) : nil
      throw LogError(
        .locked, "the log is in use", file: path, why: "\(name ?? "another process") writes to it",
        advice: "close it there first, or open it for reading")
    }
    let text = Array((holder + "\n").utf8)
    let written = unsafe text.withUnsafeBytes { bytes -> Int in
      _ = ftruncate(descriptor, 0)
      return unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, 0)
    }
    // The name is a courtesy: on a full disk the lock counts without it.
    _ = written
    return POSIXLock(descriptor)
  }

  package func sharedPage(_ path: String, writable: Bool) throws(LogError) -> SharedPage? {
    if !writable {
      guard let status = try status(path), status.byteCount >= SharedPage.byteCount else { return nil }
    }
    let descriptor = try Self.open(path, writable ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC)
    defer { _ = tidemark_close(descriptor) }
    if writable {
      // Bytes written, not only a length: a store into a page that the file system has no room for would end the process.
      var bytes = [UInt8](repeating: 0, count: SharedPage.byteCount)
      _ = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
      let written = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
      if written != SharedPage.byteCount { throw LogError(errno: written < 0 ? lastErrno : ENOSPC, "cannot write", path) }
    }
    let protection = writable ? PROT_READ | PROT_WRITE : PROT_READ
    guard let pointer = unsafe mmap(nil, SharedPage.byteCount, protection, MAP_SHARED, descriptor, 0), Int(bitPattern: pointer) != -1 else {
      throw LogError(errno: lastErrno, "cannot map", path)
    }
    return unsafe SharedPage(mapped: pointer) { unsafe munmap($0, SharedPage.byteCount) }
  }
}

/// Unchecked, because the descriptor is only touched under the engine's lock or after the last user has gone.
private final class POSIXLock: FileLock, @unchecked Sendable {
  private var descriptor: Int32
  init(_ descriptor: Int32) { self.descriptor = descriptor }
  deinit { release() }

  func release() {
    guard descriptor >= 0 else { return }
    _ = ftruncate(descriptor, 0)
    // Given up before it is closed: a process that is being started has a copy of the descriptor for a moment.
    _ = flock(descriptor, LOCK_UN)
    _ = tidemark_close(descriptor)
    descriptor = -1
  }
}

extension LogError {
  /// An error of the file system, sorted by what a caller can do about it.
  init(errno code: Int32, _ what: String, _ path: String, position: UInt64? = nil) {
    let kind: (Code, String) =
      switch code {
      case ENOSPC, EDQUOT, EFBIG: (.diskFull, "free some space; nothing that was acknowledged is lost")
      case EACCES, EPERM: (.permissionDenied, "grant access and try again; nothing was changed")
      case EROFS: (.readOnlyFileSystem, "mount the file system writable, or open the log for reading")
      case ENOTDIR: (.notADirectory, "name a directory")
      case ENOENT: (.io, "check the path")
      default: (.io, "check the device and the system's log")
      }
    self.init(kind.0, what, file: path, position: position, why: describe(errno: code), errno: code, advice: kind.1)
  }
}
