/// Mistakes that can be switched on, one at a time, to see that the simulations find them: a harness that catches nothing proves nothing.
///
/// They exist only in builds with `TIDEMARK_SEEDED_BUGS`; in every other build ``seeded(_:)`` is false, and the compiler drops what it
/// guards.
package enum SeededBug: String, CaseIterable, Sendable {
  /// Appends are acknowledged without a sync.
  case noSync
  /// Appends of a `.written` log are acknowledged before they are written.
  case acknowledgedBeforeWrite
  /// A segment that follows another is used before its header is synced.
  case headerNotSynced
  /// A segment that follows another is used before its name is durable.
  case directoryNotSynced
  /// The old segment is not synced before its successor pins its end.
  case oldNotSyncedBeforeRoll
  /// A new segment has its name from the start, not only once it is whole.
  case namedBeforeWhole
  /// Frames are believed without their checksum.
  case noChecksum
  /// The checksum of a frame does not cover its padding.
  case paddingNotCovered
  /// After a failed sync, another one that succeeds is believed.
  case failedSyncRetried
  /// What recovery keeps is served where it lies, not written out again.
  case foundFramesTrusted
  /// What is cut away is not preserved.
  case tornTailNotPreserved
  /// Appends go on behind a torn tail that is only skipped.
  case tornTailNotCut
  /// Records do not say that their batch goes on.
  case batchFlagIgnored
  /// Damage to what is recorded as durable is cut away as a torn tail.
  case damageTakenForTail
  /// A closed segment may be shorter than its successor says.
  case pinNotChecked
  /// Trimmed segments are removed before the record that lets them go is durable.
  case trimmedBeforeRecord
  /// Sealing removes the open form before the sealed one has its name.
  case openFormRemovedFirst
  /// An append whose sync failed stays in the segment.
  case failedAppendStays
  /// Look-ups by id miss sealed segments.
  case duplicatesMissedInSealed
  /// A damaged range takes no offsets.
  case offsetsReusedAfterDamage
  /// Frames name a durable offset that is not durable yet.
  case durableTooEarly
  /// A close frame that was found is not written again.
  case foundCloseTrusted
  /// Of two segments, one of which replaces the other, the one that goes further counts.
  case replacedByReach
  /// Recovery removes doubles only after it has made another one, and what it has replaced without a look at what that had replaced.
  case doublesRemovedLast
  /// A fresh segment that was found is used though its name may not be durable.
  case foundNameTrusted
  /// Readers in other processes are shown events before these are synced.
  case publishedTooEarly
  /// A reader without a writer sees what is not recorded as durable.
  case readerSeesUnsynced
  /// `recordDurable` writes its mark, and does not sync it.
  case markNotSynced
  /// What was recovered is closed without a close frame, so that each opening recovers again.
  case recoveredNotClosed

  #if TIDEMARK_SEEDED_BUGS
    /// The one that is switched on. Set while nothing else runs.
    package nonisolated(unsafe) static var active: SeededBug?
  #endif
}

/// Whether a mistake is switched on.
@inline(__always) func seeded(_ bug: SeededBug) -> Bool {
  #if TIDEMARK_SEEDED_BUGS
    unsafe SeededBug.active == bug
  #else
    false
  #endif
}

extension FrameHeader {
  /// Whether the checksum matches with zeros for padding: for ``SeededBug/paddingNotCovered``.
  func isWholeButForPadding(_ bytes: RawSpan, at position: Int, seed: UInt64) -> Bool {
    var frame = bytes.slice(position, frameLength).array()
    for index in Self.byteCount + storedLength..<frameLength { frame[index] = 0 }
    return frame.rawSpan.u64(0) == xxh3(frame.rawSpan.slice(8, frameLength - 8), seed: seed)
  }
}
