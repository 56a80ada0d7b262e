internal import TidemarkLog

/// Rules that compare an event with dates of the policy, with its location fixes and with receipts.
extension ClockReview {
  func wallBeforeBuild(_ event: ObservedEvent) -> ClockFlag? {
    guard let wall = event.wall, wall < policy.buildDate else { return nil }
    let difference = Self.difference(wall, policy.buildDate)
    return flag(
      .wallBeforeBuild, event, [.init("wall", wall), .init("build_date", policy.buildDate), .init("difference_ns", difference)],
      "the wall clock shows \(ClockText.short(wall)), before the build date \(ClockText.short(policy.buildDate))")
  }

  func wallInFuture(_ event: ObservedEvent) -> ClockFlag? {
    guard let wall = event.wall else { return nil }
    let upper = brackets.bracket(of: event.offset).upper
    if let upper, Self.difference(wall, upper) > Int128(policy.receiptDifferenceNanoseconds) {
      let difference = Self.difference(wall, upper)
      return flag(
        .wallInFuture, event, [.init("wall", wall), .init("receipt_time", upper), .init("difference_ns", difference)],
        "the wall clock shows \(ClockText.short(wall)), \(ClockText.length(difference)) after the server had the event by its own clock")
    }
    guard wall > policy.latestDate else { return nil }
    let difference = Self.difference(wall, policy.latestDate)
    return flag(
      .wallInFuture, event, [.init("wall", wall), .init("latest_date", policy.latestDate), .init("difference_ns", difference)],
      "the wall clock shows \(ClockText.short(wall)), after the latest date \(ClockText.short(policy.latestDate))")
  }

  /// 1,024 weeks: a satellite receiver's week number begins again after them, and its dates with it.
  private static let rollover: UInt128 = 1024 * 7 * 86_400 * 1_000_000_000

  func fixDiffers(_ event: ObservedEvent, _ fix: EventExtension.LocationFix) -> ClockFlag? {
    guard let wall = event.wall else { return nil }
    // A fix that is younger than the event is of another boot, or none of these clocks: how old it is can't be told.
    let age = fix.elapsed <= event.elapsed ? Int128(event.elapsed - fix.elapsed) : nil
    let difference = Self.difference(fix.time, wall) + (age ?? 0)
    guard (age == nil ? max(0, difference) : difference).magnitude > UInt128(policy.fixDifferenceNanoseconds) else { return nil }
    var facts: [ClockFlag.Fact] = [.init("wall", wall), .init("fix_time", fix.time)]
    if let age { facts.append(.init("age_ns", age)) }
    facts.append(.init("difference_ns", difference))
    var explanation =
      "a location fix says \(ClockText.short(fix.time)), \(ClockText.length(difference)) "
      + "\(difference < 0 ? "before" : "after") the wall clock"
    if age != nil { explanation += " at that moment" }
    let weeks = (difference.magnitude + Self.rollover / 2) / Self.rollover
    let rest = Int128(difference.magnitude) - Int128(weeks * Self.rollover)
    if weeks > 0, rest.magnitude <= UInt128(policy.fixDifferenceNanoseconds) {
      facts.append(.init("week_rollovers", weeks))
      explanation += ": \(weeks) × 1024 weeks, as when a receiver's week number begins again"
    }
    return flag(.fixDiffers, event, facts, explanation)
  }

  func receiptWentBack(_ event: ObservedEvent, _ receipt: ReceiptTime, after previous: ReceiptTime?) -> ClockFlag? {
    guard let previous else { return nil }
    let difference = Self.difference(receipt.time, previous.time)
    guard -difference > Int128(policy.receiptWentBackNanoseconds) else { return nil }
    return flag(
      .receiptWentBack, event,
      [
        .init("previous_offset", previous.offset), .init("previous_receipt_time", previous.time), .init("receipt_time", receipt.time),
        .init("difference_ns", difference),
      ],
      "this receipt's server time \(ClockText.short(receipt.time)) is \(ClockText.length(difference)) before that of the receipt at offset "
        + "\(previous.offset)")
  }

  func receiptAheadOfWall(_ event: ObservedEvent, _ receipt: ReceiptTime) -> ClockFlag? {
    guard let wall = event.wall else { return nil }
    let difference = Self.difference(wall, receipt.time)
    guard -difference > Int128(policy.receiptDifferenceNanoseconds) else { return nil }
    return flag(
      .receiptAheadOfWall, event, [.init("wall", wall), .init("receipt_time", receipt.time), .init("difference_ns", difference)],
      "the wall clock shows \(ClockText.short(wall)), \(ClockText.length(difference)) before the server signed the receipt that stands here"
    )
  }

  func claimOutsideBracket(_ event: ObservedEvent) -> ClockFlag? {
    guard let claim = event.claim else { return nil }
    let bracket = brackets.bracket(of: event.offset)
    let allowed = Int128(policy.claimDifferenceNanoseconds)
    let early = bracket.lower.map { Self.difference(claim, $0) } ?? 0
    let late = bracket.upper.map { Self.difference(claim, $0) } ?? 0
    guard -early > allowed || late > allowed else { return nil }
    var facts: [ClockFlag.Fact] = [.init("claim", claim)]
    if let lower = bracket.lower { facts.append(.init("lower", lower)) }
    if let upper = bracket.upper { facts.append(.init("upper", upper)) }
    let difference = late > allowed ? late : early
    facts.append(.init("difference_ns", difference))
    let side = late > allowed ? "after the server had the event" : "before the time by which it was not yet appended"
    return flag(
      .claimOutsideBracket, event, facts,
      "the caller stated \(ClockText.short(claim)), \(ClockText.length(difference)) \(side); it was \(bracket)")
  }
}
