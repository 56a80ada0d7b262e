internal import CCrash

/// What the laboratory asks of the operating system. Only the files of this folder hold unsafe code.
package enum Libc {
  static func failure(_ what: String, _ place: String? = nil, errno code: Int32 = crash_errno()) -> CrashError {
    CrashError(.environment, what, place: place, why: text(of: code))
  }

  static func text(of code: Int32) -> String {
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
  }

  // MARK: Time

  /// Nanoseconds on a clock that is never set.
  package static func now() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// Waits until that moment of ``now()``: the last stretch awake, because a sleep is never short.
  static func wait(until moment: UInt64) {
    while true {
      let now = now()
      if now >= moment { return }
      let left = moment - now
      if left > 300_000 { sleep(nanoseconds: left - 200_000) }
    }
  }

  static func sleep(nanoseconds: UInt64) {
    var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    unsafe nanosleep(&time, nil)
  }

  /// Seconds since 1970.
  static func wallSeconds() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec
  }

  // MARK: Descriptors

  static func open(_ path: String, _ flags: Int32, mode: UInt32 = 0o600) throws(CrashError) -> Int32 {
    let descriptor = unsafe crash_open(path, flags, mode)
    guard descriptor >= 0 else { throw failure("can't open", path) }
    return descriptor
  }

  /// Whether a file must be new, must be there, or may be either.
  enum Presence { case new, there, either }

  /// Opens a file to read and write it; never what a link leads to.
  static func openRecord(_ path: String, _ presence: Presence) throws(CrashError) -> Int32 {
    switch presence {
    case .new: try open(path, O_RDWR | O_NOFOLLOW | O_CREAT | O_EXCL)
    case .there: try open(path, O_RDWR | O_NOFOLLOW)
    case .either: try open(path, O_RDWR | O_NOFOLLOW | O_CREAT)
    }
  }

  package static func close(_ descriptor: Int32) {
    if descriptor >= 0 { _ = CCrash.close(descriptor) }
  }

  static func pipe(capacity: Int32 = 0) throws(CrashError) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    let code = unsafe ends.withUnsafeMutableBufferPointer { buffer -> Int32 in
      guard let base = buffer.baseAddress else { return -1 }
      return unsafe crash_pipe(base, capacity)
    }
    guard code == 0 else { throw failure("can't make a pipe") }
    return (ends[0], ends[1])
  }

  /// Waits until a descriptor has something to read, or is at its end.
  package static func isReadable(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&request, 1, milliseconds) > 0
  }

  /// Waits until one of several descriptors has something to read, or is at its end; those below 0 never have.
  static func areReadable(_ descriptors: [Int32], milliseconds: Int32) -> [Bool] {
    var requests = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    _ = unsafe requests.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds) }
    return requests.map { $0.revents != 0 }
  }

  /// Appends what one `read` gives; returns how much that was, 0 at the end and after an error.
  package static func read(_ descriptor: Int32, atMost count: Int = 65536, into bytes: inout [UInt8]) -> Int {
    let chunk = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      var got: Int
      repeat { got = unsafe CCrash.read(descriptor, buffer.baseAddress, count) } while got < 0 && crash_errno() == EINTR
      initializedCount = max(0, got)
    }
    bytes.append(contentsOf: chunk)
    return chunk.count
  }

  /// One `write` of these bytes: how many went, or -1 with errno.
  static func write(_ descriptor: Int32, _ bytes: [UInt8], from start: Int = 0) -> Int {
    unsafe bytes.withUnsafeBytes { buffer -> Int in
      let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[start...])
      return unsafe CCrash.write(descriptor, rest.baseAddress, rest.count)
    }
  }

  package static func writeAll(_ descriptor: Int32, _ bytes: [UInt8], _ path: String) throws(CrashError) {
    var done = 0
    while done < bytes.count {
      let count = write(descriptor, bytes, from: done)
      if count > 0 { done += count } else if count == 0 || crash_errno() != EINTR { throw failure("can't write", path) }
    }
  }

  static func write(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>, at position: UInt64) -> Bool {
    unsafe bytes.withUnsafeBytes { buffer -> Bool in
      var done = 0
      while done < buffer.count {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
        let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(position) + off_t(done))
        if count <= 0 { return false }
        done += count
      }
      return true
    }
  }

  /// The bytes at a position, fewer at the end of the file.
  static func read(_ descriptor: Int32, count: Int, at position: UInt64) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        return unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(position) + off_t(done))
      }
      if got <= 0 { break }
      done += got
    }
    bytes.removeLast(count - done)
    return bytes
  }

  static func seekToEnd(_ descriptor: Int32) -> UInt64 { UInt64(max(0, lseek(descriptor, 0, SEEK_END))) }
  static func seek(_ descriptor: Int32, to position: UInt64) { _ = lseek(descriptor, off_t(position), SEEK_SET) }
  /// Sends a file's data to the disk and waits until the disk has it, in whatever cache.
  static func writeBack(_ descriptor: Int32) { crash_write_back(descriptor) }
  static func truncate(_ descriptor: Int32, to count: UInt64) -> Bool { ftruncate(descriptor, off_t(count)) == 0 }
  static func syncData(_ descriptor: Int32) -> Bool { fsync(descriptor) == 0 }

  // MARK: Files

  static func makeDirectory(_ path: String) throws(CrashError) {
    guard unsafe mkdir(path, 0o700) == 0 || crash_errno() == EEXIST else { throw failure("can't make the directory", path) }
  }

  static func syncDirectory(_ path: String) throws(CrashError) {
    let directory = try open(path, O_RDONLY | O_DIRECTORY)
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw failure("can't sync the directory", path) }
  }

  /// The names in a directory, without `.` and `..`; nil if it is none.
  package static func names(in path: String) -> [String]? {
    guard let directory = unsafe opendir(path) else { return nil }
    defer { _ = unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  enum FileKind { case file, directory, other }

  static func kind(of path: String) -> FileKind? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    // The bits of S_IFMT, S_IFREG and S_IFDIR, which are the same everywhere.
    switch UInt32(status.st_mode) & 0o170000 {
    case 0o100000: return .file
    case 0o040000: return .directory
    default: return .other
    }
  }

  static func byteCount(of path: String) -> UInt64? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return UInt64(max(0, status.st_size))
  }

  static func isExecutable(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }

  /// Removes a tree, without following links and without leaving its file system.
  package static func remove(_ path: String) {
    guard let kind = kind(of: path) else { return }
    guard kind == .directory else {
      _ = unsafe unlink(path)
      return
    }
    if unsafe crash_is_mount_point(path) == 1 { return }
    for name in names(in: path) ?? [] { remove("\(path)/\(name)") }
    _ = unsafe rmdir(path)
  }

  /// Copies files and directories: a store has nothing else.
  static func copy(_ source: String, to target: String) throws(CrashError) {
    if kind(of: source) == .directory {
      try makeDirectory(target)
      for name in names(in: source) ?? [] { try copy("\(source)/\(name)", to: "\(target)/\(name)") }
      return
    }
    let from = try open(source, O_RDONLY)
    defer { close(from) }
    let to = try open(target, O_WRONLY | O_CREAT | O_TRUNC)
    defer { close(to) }
    var bytes: [UInt8] = []
    while read(from, into: &bytes) > 0 {
      try writeAll(to, bytes, target)
      bytes.removeAll(keepingCapacity: true)
    }
  }

  /// How many bytes the files below a path have.
  static func treeByteCount(_ path: String) -> UInt64 {
    switch kind(of: path) {
    case .file: byteCount(of: path) ?? 0
    case .directory: (names(in: path) ?? []).reduce(0) { $0 + treeByteCount("\(path)/\($1)") }
    default: 0
    }
  }

  /// A small file as text, such as those in `/proc` and `/sys`.
  static func text(of path: String) -> String? {
    guard let file = try? open(path, O_RDONLY) else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    while read(file, into: &bytes) > 0 {}
    return String(decoding: bytes, as: UTF8.self)
  }

  package static func writeFile(_ path: String, _ bytes: [UInt8]) throws(CrashError) {
    let file = try open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
    defer { close(file) }
    try writeAll(file, bytes, path)
  }

  /// Makes a file that takes up so much space.
  static func fill(_ path: String, byteCount: UInt64) throws(CrashError) {
    let file = try open(path, O_RDWR | O_CREAT)
    defer { close(file) }
    let code = posix_fallocate(file, 0, off_t(byteCount))
    if code != 0 && code != ENOSPC { throw failure("can't take up space", path, errno: code) }
  }

  /// A path without links; nil if it is not there.
  package static func resolved(_ path: String) -> String? {
    guard let text = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  /// The first executable of that name in the usual places.
  static func tool(_ name: String) -> String? {
    let search = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
    let folders = search.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
    return folders.map { "\($0)/\(name)" }.first { isExecutable($0) && kind(of: resolved($0) ?? $0) == .file }
  }

  // MARK: This process

  package static func prepare() {
    // A backtrace helper of a child would hold its pipes open.
    unsafe setenv("SWIFT_BACKTRACE", "enable=no", 1)
    crash_ignore_broken_pipes()
  }

  static var isRoot: Bool { geteuid() == 0 }

  static func isMountPoint(_ path: String) -> Bool { unsafe crash_is_mount_point(path) == 1 }

  static func systemName() -> String {
    var text = [CChar](repeating: 0, count: 200)
    return unsafe text.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return "" }
      unsafe crash_system_name(base)
      return unsafe String(cString: base)
    }
  }

  struct FileSystem {
    var type: String
    var freeByteCount: UInt64
    var totalByteCount: UInt64
    var device: UInt64
  }

  static func fileSystem(of path: String) -> FileSystem? {
    var type = [CChar](repeating: 0, count: 32)
    var (free, total, device): (UInt64, UInt64, UInt64) = (0, 0, 0)
    return unsafe type.withUnsafeMutableBufferPointer { buffer -> FileSystem? in
      guard let base = buffer.baseAddress else { return nil }
      guard unsafe crash_file_system(path, base, &free, &total, &device) == 0 else { return nil }
      return FileSystem(type: unsafe String(cString: base), freeByteCount: free, totalByteCount: total, device: device)
    }
  }
}

/// A file that one process at a time has to itself.
final class LockedFile: Sendable {
  let descriptor: Int32

  /// Throws if another process has it.
  init(_ path: String, _ presence: Libc.Presence) throws(CrashError) {
    descriptor = try Libc.openRecord(path, presence)
    guard crash_lock(descriptor) == 0 else {
      throw CrashError(.environment, "can't work there", place: path, why: "another process is at work in that directory")
    }
  }

  deinit {
    // Closing alone would leave the lock to a child that is being started at this moment.
    crash_unlock(descriptor)
    Libc.close(descriptor)
  }
}

/// Threads of our own, joined at the end.
enum Threads {
  private final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Runs `body` with each number below `count` at once, and returns when all have returned.
  static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    var threads: [pthread_t] = []
    for number in 1..<max(1, count) {
      let box = unsafe Unmanaged.passRetained(Box { body(number) })
      var thread = pthread_t()
      let code = unsafe pthread_create(
        &thread, nil,
        { argument in
          if let argument = unsafe argument { unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
          return nil
        }, box.toOpaque())
      if code == 0 { threads.append(thread) } else { unsafe box.release() }
    }
    body(0)
    for thread in threads { pthread_join(thread, nil) }
  }
}
