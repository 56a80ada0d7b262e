public import TidemarkLog

extension ProjectionRunner {
  /// The state as it was when the log had a size: all events below that offset, with the corrections among them, and none after.
  ///
  /// It goes on from the nearest snapshot below, so that at most one 32nd of a long log is folded, unless a correction reaches across it.
  /// The runner's own state stays as it is.
  ///
  /// Throws `LogError.Code.offsetOutOfRange` beyond the log's end, and as ``catchUp(progress:)`` does.
  ///
  /// ```swift
  /// let before = try runner.state(asOf: 120_000).state
  /// ```
  public func state(asOf size: Offset, progress: ((FoldProgress) -> Bool)? = nil) throws -> Projected<P.State> {
    let end = log.isWriter ? log.size : try log.refresh()
    if size > end {
      throw LogError(
        .offsetOutOfRange, "there is no state as of offset \(size)", offsets: end..<size, why: "the log ends at offset \(end)",
        advice: "ask for an earlier one")
    }
    return try travel(to: size, latest: nil, progress)
  }

  /// The state by what had happened at a moment, as the devices' clocks tell: all events whose own time is not later, in the order of
  /// offsets. Clocks jump, so these need not be the first ones of the log. A correction whose own time is later does not count: what was
  /// known then is what was wrong then.
  ///
  /// Parts of the log whose times all lie later are passed over; a snapshot serves if none of its events is later.
  ///
  /// Throws as ``catchUp(progress:)`` does.
  ///
  /// ```swift
  /// let evening = try runner.state(asOf: Timestamp(nanoseconds: 1_357_016_400_000_000_000)).state
  /// ```
  public func state(asOf time: Timestamp, progress: ((FoldProgress) -> Bool)? = nil) throws -> Projected<P.State> {
    let end = log.isWriter ? log.size : try log.refresh()
    return try travel(to: end, latest: time, progress)
  }

  private func travel(to end: Offset, latest: Timestamp?, _ progress: Folder<P>.Progress?) throws(LogError) -> Projected<P.State> {
    let folder = Folder(projection: projection, log: log, policy: options.onUnreadable, latest: latest)
    var discarded: [ProjectionReport.DiscardedSnapshot] = []
    var fold = try saved.resume(&discarded, at: { $0 <= end }, where: { folder.serves($0) })
    do throws(LogError) {
      try folder.advance(&fold, to: end, progress)
    } catch {
      try folder.goOn(&fold, behind: error, to: end, saved, &discarded, progress)
    }
    try folder.mend(&fold, saved, &discarded, progress)
    var report = fold.ledger.report
    report.discardedSnapshots = discarded
    return Projected(state: fold.state, position: end, report: report)
  }
}
