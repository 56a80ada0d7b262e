#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif
import Synchronization
import TidemarkText

/// What the tool asks of the operating system. No other file of the tool calls the C library.
enum System {
  static let standardInput: Int32 = 0
  static let standardOutput: Int32 = 1
  static let standardError: Int32 = 2

  static func end(_ code: ExitCode) -> Never { end(code: code.rawValue) }

  static func end(code: Int32) -> Never { exit(code) }

  /// The words behind the program's name. Throws at one that is not UTF-8: a path or a type would silently become another.
  static func arguments() throws -> [String] {
    var words: [String] = []
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let bytes = unsafe CommandLine.unsafeArgv[index] else { break }
      guard let word = unsafe String(validatingCString: bytes) else {
        throw UsageError(
          "argument \(index)", why: "not valid UTF-8 (\(unsafe String(cString: bytes)))", advice: "write it in UTF-8, or rename the file")
      }
      words.append(word)
    }
    return words
  }

  /// Takes the numbers of standard descriptors that are closed, or a file of the log would get one and be written into. Each the wrong way
  /// round, so that its use is still an error.
  static func occupyStandardDescriptors() {
    for (descriptor, mode) in [(standardInput, O_WRONLY), (standardOutput, O_RDONLY), (standardError, O_RDONLY)]
    where fcntl(descriptor, F_GETFD) == -1 {
      _ = unsafe open("/dev/null", mode)
    }
  }

  static func openForReading(_ path: String) throws -> Int32 {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("can't open the input", path, advice: "check the path and its permissions") }
    return descriptor
  }

  /// Reads what fits into `buffer` from `index` on, at least one byte unless at the end. Throws ``Interrupted`` after Ctrl-C.
  static func readInput(_ descriptor: Int32, into buffer: inout [UInt8], at index: Int, path: String) throws -> Int {
    while true {
      try Interrupt.waitForInput(descriptor)
      let count = unsafe buffer.withUnsafeMutableBytes { bytes in
        unsafe readOnce(descriptor, bytes, index)
      }
      if count >= 0 { return count }
      guard errno == EINTR || errno == EAGAIN else {
        throw failure("can't read the input", path, advice: "check the file and its disk, then run the import again")
      }
    }
  }

  private static func readOnce(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer, _ index: Int) -> Int {
    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[index...])
    return unsafe read(descriptor, rest.baseAddress, rest.count)
  }

  static func writeAll(_ descriptor: Int32, _ bytes: [UInt8], _ place: String = "standard output") throws {
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { all in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: all[done...])
        return unsafe write(descriptor, rest.baseAddress, rest.count)
      }
      if count >= 0 {
        done += count
      } else if errno == EAGAIN {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&request, 1, -1)
      } else if errno != EINTR {
        throw failure("can't write the output", place, advice: "check where it goes")
      }
    }
  }

  /// Reads a whole file, or so much of it.
  static func readFile(_ path: String, upTo limit: Int) throws -> [UInt8] {
    let descriptor = try openForReading(path)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: limit)
    var count = 0
    while count < limit {
      let got = try readInput(descriptor, into: &bytes, at: count, path: path)
      if got == 0 { break }
      count += got
    }
    return Array(bytes.prefix(count))
  }

  /// Writes a whole file.
  static func writeFile(_ path: String, _ bytes: [UInt8]) throws {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw failure("can't write the file", path, advice: "check the path and its permissions") }
    defer { close(descriptor) }
    try writeAll(descriptor, bytes, path)
  }

  /// Opens a file to write at its end, which is made if it is not there; only its owner may read it.
  static func openForAppending(_ path: String) throws -> Int32 {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure("can't write the file", path, advice: "check the path and its permissions") }
    return descriptor
  }

  /// Allows this process as many open files as the system lets it have.
  static func raiseFileLimit() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// This program.
  static var executablePath: String {
    guard let path = unsafe realpath("/proc/self/exe", nil) else { return CommandLine.arguments[0] }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// The size of a regular file; nil for pipes and terminals.
  static func byteCount(_ descriptor: Int32) -> UInt64? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return UInt64(max(0, status.st_size))
  }

  static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// How many bytes an ordinary user can still write to the file system that holds a path.
  static func freeByteCount(_ path: String) throws -> UInt64 {
    var status = statvfs()
    guard unsafe statvfs(path, &status) == 0 else {
      throw failure("can't ask for the free space", path, advice: "check the path and its permissions")
    }
    return UInt64(status.f_bavail) * UInt64(status.f_frsize)
  }

  /// The names in a directory, sorted, without those that start with a dot.
  static func names(in path: String) throws -> [String] {
    guard let directory = unsafe opendir(path) else {
      throw failure("can't list the directory", path, advice: "check the path and its permissions")
    }
    defer { _ = unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// When a file was last written, in seconds since 1970; nil if it is gone.
  static func modificationTime(_ path: String) -> Int64? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return Int64(status.st_mtim.tv_sec)
  }

  /// Nanoseconds on a clock that is never set.
  static func monotonicNanoseconds() -> UInt64 {
    var now = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  static func sleep(milliseconds: Int32) {
    _ = poll(nil, 0, milliseconds)
  }

  private static func failure(_ what: String, _ path: String, advice: String) -> ToolError {
    let number = errno
    let why = unsafe String(cString: strerror(number))
    return ToolError(.environment, what, place: path, why: why, advice: advice)
  }
}

/// Thrown where work stops because the user asked for it.
struct Interrupted: Error {}

/// Ctrl-C, and a request to end: noted by a signal handler, obeyed between events. A second one ends the program at once.
enum Interrupt {
  private static let flag = Atomic<Bool>(false)
  /// The handler writes a byte into this pipe, so that a wait for input ends whichever thread the signal came to.
  private static let writeEnd = Atomic<Int32>(-1)
  private static let readEnd = Atomic<Int32>(-1)

  static var isRequested: Bool { flag.load(ordering: .relaxed) }

  static func check() throws {
    if isRequested { throw Interrupted() }
  }

  static func install() {
    var ends: [Int32] = [-1, -1]
    guard unsafe ends.withUnsafeMutableBufferPointer({ unsafe pipe($0.baseAddress) }) == 0 else { return }
    readEnd.store(ends[0], ordering: .relaxed)
    writeEnd.store(ends[1], ordering: .relaxed)
    // Whoever started the tool may have blocked them, and that is inherited.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    for number in [SIGINT, SIGTERM] {
      unsafe sigaddset(&signals, number)
      signal(number) { number in
        Interrupt.request()
        signal(number, SIG_DFL)
      }
    }
    unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    // A file size limit is then an error that can be told, as a full disk is.
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Ends a wait as if the user had asked for it.
  static func request() {
    let saved = errno
    flag.store(true, ordering: .relaxed)
    wake()
    errno = saved
  }

  /// Ends ``wait()``.
  static func wake() {
    var byte: UInt8 = 0
    _ = unsafe write(writeEnd.load(ordering: .relaxed), &byte, 1)
  }

  /// Waits until input is there, or throws ``Interrupted``.
  static func waitForInput(_ descriptor: Int32) throws {
    while true {
      try check()
      var requests = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: readEnd.load(ordering: .relaxed), events: Int16(POLLIN), revents: 0),
      ]
      _ = unsafe requests.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, 2, -1) }
      try check()
      if requests[0].revents != 0 { return }
    }
  }

  /// Waits for Ctrl-C or ``wake()``.
  static func wait() {
    var request = pollfd(fd: readEnd.load(ordering: .relaxed), events: Int16(POLLIN), revents: 0)
    while !isRequested, unsafe poll(&request, 1, -1) < 1 {}
  }
}
