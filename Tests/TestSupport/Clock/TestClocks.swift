import Synchronization
package import TidemarkLog

/// A clock that stands still.
package struct FixedClock: DeviceClock {
  package var reading: ClockReading
  package var bootID: EventID?
  package var timeZoneName: String

  package init(
    nanoseconds: Int64 = 1_700_000_000_000_000_000, elapsed: UInt64 = 1_000_000_000, bootID: EventID? = EventID(high: 0xB007, low: 1),
    timeZoneName: String = "UTC"
  ) {
    reading = ClockReading(time: Timestamp(nanoseconds: nanoseconds), elapsed: elapsed)
    self.bootID = bootID
    self.timeZoneName = timeZoneName
  }

  package func now() -> ClockReading { reading }
}

/// A clock that goes on by one step with each reading, and whose wall clock can be set. Safe from any thread.
package final class SteppingClock: DeviceClock {
  private let step: UInt64
  private let elapsed: Atomic<UInt64>
  /// Wall clock less time since boot, in nanoseconds.
  private let difference: Atomic<Int64>
  private let boot = Atomic<UInt64>(1)
  private let synchronized = Atomic<Bool>(false)
  package let timeZoneName = "UTC"

  package init(nanoseconds: Int64 = 1_700_000_000_000_000_000, stepNanoseconds: UInt64 = 1_000_000) {
    step = stepNanoseconds
    elapsed = Atomic(0)
    difference = Atomic(nanoseconds)
  }

  package func now() -> ClockReading {
    let elapsed = elapsed.wrappingAdd(step, ordering: .relaxed).newValue
    let time = Int64(clamping: elapsed).addingReportingOverflow(difference.load(ordering: .relaxed))
    return ClockReading(
      time: Timestamp(nanoseconds: time.overflow ? .max : time.partialValue), elapsed: elapsed,
      isSynchronized: synchronized.load(ordering: .relaxed))
  }

  package var bootID: EventID? { EventID(high: 0xB007, low: boot.load(ordering: .relaxed)) }

  /// Sets the wall clock forward, or back, and leaves the time since boot alone.
  package func setWallClock(byNanoseconds change: Int64) { difference.wrappingAdd(change, ordering: .relaxed) }

  /// Sets the wall clock to one moment, as a device does whose battery failed.
  package func setWallClock(to time: Timestamp) {
    difference.store(time.nanoseconds &- Int64(clamping: elapsed.load(ordering: .relaxed)), ordering: .relaxed)
  }

  package func setSynchronized(_ value: Bool) { synchronized.store(value, ordering: .relaxed) }

  /// A new boot: another id, and the time since boot begins again. The wall clock goes on.
  package func reboot() {
    boot.wrappingAdd(1, ordering: .relaxed)
    difference.wrappingAdd(Int64(clamping: elapsed.exchange(0, ordering: .relaxed)), ordering: .relaxed)
  }
}
