package import TidemarkLog

/// What a review needs of an event: its clocks, and which boot they belong to.
package struct ObservedEvent: Sendable, Equatable {
  package var offset: Offset
  package var id: EventID
  /// The device's wall clock; nil if the caller stated the time, for then it was not kept.
  package var wall: Timestamp?
  /// The time that the caller stated.
  package var claim: Timestamp?
  /// Nanoseconds since boot. The device's in either case.
  package var elapsed: UInt64
  /// Whether a step of the wall clock was noted at appending.
  package var isStepNoted: Bool
  package var fixes: [EventExtension.LocationFix]
  /// Nil if it is not known.
  package var boot: EventID?
  /// Which opening of the log; nil if it is not known.
  package var incarnation: UInt64?

  package init(
    offset: Offset, id: EventID, wall: Timestamp?, claim: Timestamp? = nil, elapsed: UInt64, isStepNoted: Bool = false,
    fixes: [EventExtension.LocationFix] = [], boot: EventID?, incarnation: UInt64?
  ) {
    self.offset = offset
    self.id = id
    self.wall = wall
    self.claim = claim
    self.elapsed = elapsed
    self.isStepNoted = isStepNoted
    self.fixes = fixes
    self.boot = boot
    self.incarnation = incarnation
  }

  /// Extensions that can't be taken apart are passed over: that is for `verify` to tell.
  package init(_ event: EventView, session: Session?) {
    var fixes: [EventExtension.LocationFix] = []
    if let extensions = try? event.extensions {
      for case .locationFix(let fix) in extensions { fixes.append(fix) }
    }
    let isClaim = event.isTimeFromCaller
    self.init(
      offset: event.offset, id: event.id, wall: isClaim ? nil : event.time, claim: isClaim ? event.time : nil, elapsed: event.elapsed,
      isStepNoted: event.isClockStepped, fixes: fixes, boot: session?.bootID, incarnation: session?.incarnation)
  }

  /// Whether both are surely of one boot: the same boot id, or the same opening of the log, which no reboot survives.
  func isOfSameBoot(as other: ObservedEvent) -> Bool {
    boot != nil && boot == other.boot || incarnation != nil && incarnation == other.incarnation
  }
}
