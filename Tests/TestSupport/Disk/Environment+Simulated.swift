package import TidemarkLog

extension Environment {
  /// A simulated disk with a clock that steps, and random bits from a seed: with one thread a run is the same each time.
  ///
  /// Make one for a run and give it to every opening in it. Another one with the same seed draws the same "random" ids again, which no
  /// log has to bear; after a cut that is followed up on a copy of the disk, take another seed.
  package static func simulated(_ disk: SimulatedDisk, seed: UInt64, clock: any DeviceClock = SteppingClock()) -> Environment {
    Environment(fileSystem: disk, clock: clock, random: SeededRandomSource(seed: seed))
  }
}
