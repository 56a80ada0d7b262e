internal import CPlatform

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// The C library's `errno` after a failed call.
var lastErrno: Int32 { tidemark_errno() }

/// The text that the C library has for an error number.
func describe(errno code: Int32) -> String {
  guard let text = unsafe strerror(code) else { return "error \(code)" }
  return unsafe String(cString: text)
}

/// Name and process id of this process, for the lock file.
func describeProcess() -> String {
  let name = unsafe String(cString: tidemark_program_name())
  return "\(name) (process \(getpid()))"
}

/// A mutual-exclusion lock. `Synchronization.Mutex` would serve, but the thread sanitizer does not understand its Linux form.
@safe package final class Lock: @unchecked Sendable {
  // Unchecked, because the pointer never changes and the lock is made for threads.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  package init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe tidemark_lock_init(mutex)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  package func lock() { unsafe pthread_mutex_lock(mutex) }
  package func unlock() { unsafe pthread_mutex_unlock(mutex) }

  package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }
}

/// A value behind a lock, with the interface of `Synchronization.Mutex`.
package final class Locked<Value>: @unchecked Sendable {
  // Unchecked, because every access to the value goes through the lock.
  private let guardian = Lock()
  private var value: Value

  package init(_ value: sending Value) { self.value = value }

  package func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
    guardian.lock()
    defer { guardian.unlock() }
    return try body(&value)
  }
}

/// A word to wait on until another thread changes it.
@safe package final class WaitWord: @unchecked Sendable {
  // Unchecked, because the pointer never changes and every access is atomic.
  private let word: UnsafeMutablePointer<UInt32>

  package init() {
    unsafe word = .allocate(capacity: 1)
    unsafe word.initialize(to: 0)
  }

  deinit { unsafe word.deallocate() }

  package var value: UInt32 { unsafe tidemark_load32(word) }

  func set(_ value: UInt32) { unsafe tidemark_store32(word, value) }

  package func wakeAll() { unsafe tidemark_wake_all(word) }

  package func increment() {
    _ = unsafe tidemark_add32(word, 1)
    unsafe tidemark_wake_all(word)
  }

  /// Waits while the word is `value`, at most so many nanoseconds (negative: for ever). May return early.
  package func wait(while value: UInt32, nanoseconds: Int64 = -1) { unsafe tidemark_wait(word, value, nanoseconds) }
}

/// Lets other threads run.
func yieldThread() { sched_yield() }

/// A thread of our own: blocking calls must not stand on the cooperative pool.
///
/// The body runs once; nobody joins it, it keeps what it needs alive itself.
package func runThread(name: StaticString, lowPriority: Bool, _ body: @escaping @Sendable () -> Void) throws(LogError) {
  final class Box: Sendable {
    let body: @Sendable () -> Void
    let lowPriority: Bool
    init(_ body: @escaping @Sendable () -> Void, _ lowPriority: Bool) {
      self.body = body
      self.lowPriority = lowPriority
    }
  }
  let box = unsafe Unmanaged.passRetained(Box(body, lowPriority))
  var attributes = pthread_attr_t()
  unsafe pthread_attr_init(&attributes)
  unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
  unsafe pthread_attr_setstacksize(&attributes, 256 << 10)
  defer { unsafe pthread_attr_destroy(&attributes) }
  #if canImport(Darwin)
    var thread: pthread_t?
    let code = unsafe pthread_create(
      &thread, &attributes,
      { argument in
        let box = unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
        if box.lowPriority { tidemark_lower_thread_priority() }
        box.body()
        return nil
      }, box.toOpaque())
  #else
    var thread = pthread_t()
    let code = unsafe pthread_create(
      &thread, &attributes,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let box = unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
        if box.lowPriority { tidemark_lower_thread_priority() }
        box.body()
        return nil
      }, box.toOpaque())
  #endif
  guard code == 0 else {
    unsafe box.release()
    throw LogError(
      .io, "cannot start the \(name) thread", why: describe(errno: code), errno: code, advice: "free memory or raise the thread limit")
  }
}

/// The system's clocks, read with `clock_gettime`.
public struct SystemClock: DeviceClock {
  /// Reads nothing yet.
  public init() {}

  public func now() -> ClockReading {
    var wall = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &wall)
    let nanoseconds = Int64(wall.tv_sec) &* 1_000_000_000 &+ Int64(wall.tv_nsec)
    return ClockReading(
      time: Timestamp(nanoseconds: nanoseconds), elapsed: tidemark_boot_clock(), utcOffsetMinutes: Self.utcOffset(at: Int(wall.tv_sec)),
      isSynchronized: Self.isSynchronized(at: Int(wall.tv_sec)), source: .system)
  }

  public var bootID: EventID? {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      guard let base = buffer.baseAddress else { return nil }
      let length = unsafe tidemark_boot_id(base, 64)
      let text = unsafe String(cString: base)
      return length > 0 ? EventID(text) : nil
    }
  }

  public var timeZoneName: String {
    if let name = unsafe getenv("TZ"), unsafe strlen(name) > 0 {
      let text = unsafe String(cString: name)
      return text.first == ":" ? String(text.dropFirst()) : text
    }
    let target = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer -> String? in
      guard let base = buffer.baseAddress else { return nil }
      let length = unsafe readlink("/etc/localtime", base, 511)
      guard length > 0 else { return nil }
      unsafe base[length] = 0
      return unsafe String(cString: base)
    }
    guard let target, let range = target.firstRange(of: "zoneinfo/") else { return "UTC" }
    return String(target[range.upperBound...])
  }

  /// Both answers change rarely and cost a system call or a look into the time zone's rules: kept for a quarter of a minute.
  private static let cached = Locked((offsetUntil: Int.min, offset: Int16(0), synchronizedUntil: Int.min, isSynchronized: false))

  private static func utcOffset(at seconds: Int) -> Int16 {
    cached.withLock { cache in
      if seconds >= cache.offsetUntil || seconds < cache.offsetUntil - 15 {
        var local = unsafe tm()
        var time = time_t(seconds)
        unsafe localtime_r(&time, &local)
        cache.offset = unsafe Int16(truncatingIfNeeded: local.tm_gmtoff / 60)
        cache.offsetUntil = seconds - seconds % 15 + 15
      }
      return cache.offset
    }
  }

  private static func isSynchronized(at seconds: Int) -> Bool {
    cached.withLock { cache in
      if seconds >= cache.synchronizedUntil || seconds < cache.synchronizedUntil - 15 {
        cache.isSynchronized = tidemark_clock_is_synchronized()
        cache.synchronizedUntil = seconds + 15
      }
      return cache.isSynchronized
    }
  }
}

/// Where the C library looks for the time zone database.
package var systemTimeZoneDirectory: String {
  guard let path = unsafe getenv("TZDIR"), unsafe strlen(path) > 0 else { return "/usr/share/zoneinfo" }
  return unsafe String(cString: path)
}

/// Random bits of the system, taken a few hundred bytes at a time.
package final class SystemRandom: RandomSource {
  private let pool = Locked((words: [UInt64](), next: 0))

  package init() {}

  package func next() -> UInt64 {
    pool.withLock { pool in
      if pool.next == pool.words.count {
        if pool.words.isEmpty { pool.words = [UInt64](repeating: 0, count: 64) }
        let failed = unsafe pool.words.withUnsafeMutableBytes { bytes in unsafe tidemark_random(bytes.baseAddress, bytes.count) } != 0
        if failed {
          var generator = SystemRandomNumberGenerator()
          for index in pool.words.indices { pool.words[index] = generator.next() }
        }
        pool.next = 0
      }
      defer { pool.next += 1 }
      return pool.words[pool.next]
    }
  }
}

func sleepForAWhile(_ nanoseconds: UInt64) { tidemark_sleep(nanoseconds) }

/// Nanoseconds on a clock that never goes back, for waiting and pacing; nothing that is stored depends on it.
package func monotonicNow() -> UInt64 { tidemark_boot_clock() }

#if TIDEMARK_SEEDED_BUGS
  /// A variable of the process; nil if it is not set.
  package func environmentValue(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }
#endif
