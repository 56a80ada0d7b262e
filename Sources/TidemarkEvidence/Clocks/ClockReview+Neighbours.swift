internal import TidemarkLog

/// Rules that compare an event with the one before.
extension ClockReview {
  func wallWentBack(_ event: ObservedEvent) -> ClockFlag? {
    guard let wall = event.wall, let last = lastTimed, let previous = last.wall else { return nil }
    let difference = Self.difference(wall, previous)
    guard -difference > Int128(policy.wallWentBackNanoseconds) else { return nil }
    return flag(
      .wallWentBack, event,
      [
        .init("previous_offset", last.offset), .init("previous_wall", previous), .init("wall", wall), .init("difference_ns", difference),
      ],
      "the wall clock shows \(ClockText.short(wall)), \(ClockText.length(difference)) before the event at offset \(last.offset)")
  }

  func wallJumpedForward(_ event: ObservedEvent) -> ClockFlag? {
    guard let wall = event.wall, let last = lastTimed, let previous = last.wall else { return nil }
    let explained = event.isOfSameBoot(as: last) && event.elapsed > last.elapsed ? Int128(event.elapsed - last.elapsed) : 0
    let unexplained = Self.difference(wall, previous) - explained
    guard unexplained > Int128(policy.wallJumpedForwardNanoseconds) else { return nil }
    return flag(
      .wallJumpedForward, event,
      [
        .init("previous_offset", last.offset), .init("previous_wall", previous), .init("wall", wall), .init("elapsed_ns", explained),
        .init("unexplained_ns", unexplained),
      ],
      "the wall clock shows \(ClockText.short(wall)), \(ClockText.length(unexplained)) more than what passed since the event at offset "
        + "\(last.offset), as far as is known")
  }

  mutating func wallStepped(_ event: ObservedEvent) -> ClockFlag? {
    guard let wall = event.wall, let last = lastTimed, let previous = last.wall, event.isOfSameBoot(as: last), event.elapsed >= last.elapsed
    else {
      // Of a caller's time the difference can't be taken, and it changes nothing between the events around it.
      if event.wall != nil { drift.reset() }
      return event.isStepNoted ? notedStep(event) : nil
    }
    let before = DriftSum.Start(offset: last.offset, difference: Int128(previous.nanoseconds) - Int128(last.elapsed))
    let difference = Int128(wall.nanoseconds) - Int128(event.elapsed)
    drift.add(
      from: before, to: difference, elapsed: event.elapsed - last.elapsed, slewPartsPerMillion: policy.slewPartsPerMillion)
    let found = drift.start(ofMoreThan: policy.wallStepNanoseconds)
    guard let start = found ?? (event.isStepNoted ? before : nil) else { return nil }
    drift.reset()
    let change = difference - start.difference
    return flag(
      .wallStepped, event,
      [
        .init("since_offset", start.offset), .init("previous_wall", previous), .init("wall", wall),
        .init("elapsed_ns", event.elapsed - last.elapsed), .init("difference_ns", change), Self.noted(event),
      ],
      "the wall clock was set \(change < 0 ? "back" : "forward") by \(ClockText.length(change)) between offsets \(start.offset) and "
        + "\(event.offset), to \(ClockText.short(wall))")
  }

  private func notedStep(_ event: ObservedEvent) -> ClockFlag {
    flag(
      .wallStepped, event, [Self.noted(event)],
      "the wall clock was set before this event, as was noted at appending; by how much is not known")
  }

  private static func noted(_ event: ObservedEvent) -> ClockFlag.Fact {
    .init("noted_at_appending", event.isStepNoted ? "yes" : "no")
  }

  func reboot(_ event: ObservedEvent) -> ClockFlag? {
    guard let boot = event.boot, let lastBoot, boot != lastBoot else { return nil }
    return flag(
      .reboot, event, [.init("previous_boot", lastBoot.hexadecimal), .init("boot", boot.hexadecimal), .init("elapsed_ns", event.elapsed)],
      "the device was started anew, \(ClockText.length(Int128(event.elapsed))) before this event")
  }

  func elapsedWentBack(_ event: ObservedEvent) -> ClockFlag? {
    guard let last, event.isOfSameBoot(as: last), event.elapsed < last.elapsed else { return nil }
    let back = last.elapsed - event.elapsed
    guard back > policy.elapsedWentBackNanoseconds else { return nil }
    return flag(
      .elapsedWentBack, event,
      [
        .init("previous_offset", last.offset), .init("previous_elapsed_ns", last.elapsed), .init("elapsed_ns", event.elapsed),
        .init("difference_ns", -Int128(back)),
      ],
      "the time since boot is \(ClockText.length(Int128(back))) less than at offset \(last.offset), in one boot")
  }
}
