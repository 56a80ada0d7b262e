package import TidemarkLog

extension Environment {
  /// A simulated disk with a clock that steps, and random bits from a seed: with one thread a run is the same each time.
  package static func simulated(_ disk: SimulatedDisk, seed: UInt64, clock: any DeviceClock = SteppingClock()) -> Environment {
    Environment(fileSystem: disk, clock: clock, random: SeededRandomSource(seed: seed))
  }
}
