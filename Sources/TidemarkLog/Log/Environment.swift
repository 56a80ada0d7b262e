/// What the engine's core takes from outside: files, time and randomness. With all three given, a run is reproducible.
package struct Environment: Sendable {
  package var fileSystem: any FileSystem
  package var clock: any DeviceClock
  package var random: any RandomSource
  /// Runs its last argument on a thread of that name, of low priority or not. Throws if the system has no thread to give.
  package var startThread: @Sendable (StaticString, Bool, @escaping @Sendable () -> Void) throws(LogError) -> Void = {
    (name, isLow, body) throws(LogError) in
    try runThread(name: name, lowPriority: isLow, body)
  }

  /// The system's.
  package init(clock: any DeviceClock = SystemClock()) {
    self.init(fileSystem: POSIXFileSystem(), clock: clock, random: SystemRandom())
  }

  package init(fileSystem: any FileSystem, clock: any DeviceClock, random: any RandomSource) {
    self.fileSystem = fileSystem
    self.clock = clock
    self.random = random
  }
}

/// A source of random bits. Implementations are safe to call from any thread.
package protocol RandomSource: Sendable {
  func next() -> UInt64
}

/// The clocks of a device. The default reads the system's; a host with a better source (a satellite receiver, a network clock) supplies its
/// own.
///
/// ```swift
/// struct FixedClock: DeviceClock {
///   func now() -> ClockReading { ClockReading(time: Timestamp(nanoseconds: 0), elapsed: 0) }
///   var bootID: EventID? { nil }
///   var timeZoneName: String { "UTC" }
/// }
/// ```
public protocol DeviceClock: Sendable {
  /// Both clocks, read as near to each other as can be.
  func now() -> ClockReading
  /// Changes with each boot; nil if the system does not tell.
  var bootID: EventID? { get }
  /// The name of the local time zone, such as `Europe/Oslo`.
  var timeZoneName: String { get }
}

/// One reading of a device's clocks.
public struct ClockReading: Sendable, Equatable {
  /// The wall clock, as it is: it may be wrong and is never corrected.
  public var time: Timestamp
  /// Nanoseconds since boot, time asleep included.
  public var elapsed: UInt64
  /// Local time's offset from UTC, in minutes.
  public var utcOffsetMinutes: Int16
  /// Whether the system believes that its wall clock is synchronised.
  public var isSynchronized: Bool
  /// What the wall clock is set by.
  public var source: ClockSource

  /// One reading, as a ``DeviceClock`` gives it.
  public init(
    time: Timestamp, elapsed: UInt64, utcOffsetMinutes: Int16 = 0, isSynchronized: Bool = false, source: ClockSource = .system
  ) {
    self.time = time
    self.elapsed = elapsed
    self.utcOffsetMinutes = utcOffsetMinutes
    self.isSynchronized = isSynchronized
    self.source = source
  }
}

/// Where an event's time came from.
public enum ClockSource: UInt8, Sendable, CaseIterable {
  /// Not known.
  case unknown = 0
  /// The system's wall clock.
  case system = 1
  /// A clock of the network.
  case network = 2
  /// A satellite receiver.
  case satellite = 3
  /// The caller stated the time.
  case caller = 4
}
