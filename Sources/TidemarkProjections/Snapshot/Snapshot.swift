internal import TidemarkLog

/// A saved fold: state and offset in one file.
///
/// ```
///   0          8         10     12        16       32         48         56        72            80       88
///   +----------+---------+------+---------+--------+----------+----------+---------+-------------+--------+--- - - - - ---+-------+
///   | TMSNAPSH | version | zero | proj.   | log id | epoch id | position | last id | latest time | length | name, ...     | hash  |
///   |          | of this |      | version |        |          |          |         |             |        | state         |       |
///   +----------+---------+------+---------+--------+----------+----------+---------+-------------+--------+--- - - - - ---+-------+
/// ```
///
/// `Specs/projections.md` has the rest.
struct Snapshot<P: Projection> {
  let projection: P
  let identity: LogIdentity

  /// - Parameter lastID: of the event below the fold's position, if known: tells whether a log that is as long still holds the same.
  func encode(_ fold: Fold<P.State>, lastID: EventID) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.add(SnapshotHeader.magic)
    bytes.add(SnapshotHeader.version)
    bytes.add(UInt16(0))
    bytes.add(projection.version)
    bytes.add(identity.logID)
    bytes.add(identity.epochID)
    bytes.add(fold.ledger.position)
    bytes.add(lastID)
    bytes.add(fold.ledger.latestTime.nanoseconds)
    bytes.add(UInt64(0))
    bytes.add(text: projection.name)
    bytes.add(fold.ledger.unreadableCount)
    bytes.add(fold.ledger.damagedOffsetCount)
    bytes.add(fold.ledger.missingBelow)
    bytes.add(UInt64(fold.ledger.parked.count))
    for parked in fold.ledger.parked {
      bytes.add(parked.offset)
      bytes.add(text: parked.why)
    }
    fold.ledger.corrections.encode(to: &bytes)
    bytes += projection.encode(fold.state)
    bytes.store(UInt64(bytes.count + 8), at: 80)
    bytes.add(xxh3(bytes.rawSpan))
    return bytes
  }

  /// Throws why the bytes do not serve; that is no failure, the value is folded again.
  func decode(_ bytes: [UInt8], position: Offset) throws(UnreadableEvent) -> (fold: Fold<P.State>, lastID: EventID) {
    let header = try SnapshotHeader(bytes, identity: identity, name: projection.name, position: position)
    guard header.projectionVersion == projection.version else {
      throw UnreadableEvent("it is of version \(header.projectionVersion) of the projection, not \(projection.version)")
    }
    var reader = header.rest
    var fold = Fold(initial: projection.initial)
    fold.ledger.position = position
    fold.ledger.latestTime = header.latestTime
    fold.ledger.unreadableCount = try reader.tally()
    fold.ledger.damagedOffsetCount = try reader.tally()
    fold.ledger.missingBelow = try reader.tally()
    for _ in 0..<(try reader.count(elementByteCount: 12)) {
      fold.ledger.parked.append(ProjectionReport.Parked(offset: try reader.u64(), why: try reader.text()))
    }
    fold.ledger.corrections = try Corrections(&reader)
    do { fold.state = try projection.decode(reader.rest()) } catch { throw UnreadableEvent("its state can't be read: \(error)") }
    return (fold, header.lastID)
  }
}

/// The part of a snapshot that is the same for all projections, checked.
struct SnapshotHeader {
  /// "TMSNAPSH"
  static var magic: UInt64 { 0x4853_5041_4E53_4D54 }
  static var version: UInt16 { 1 }
  static var fixedLength: Int { 88 }

  let projectionVersion: UInt32
  /// Of the event below the position; zero if that was not known.
  let lastID: EventID
  let latestTime: Timestamp
  /// What follows the name.
  let rest: StateReader

  /// Throws why the bytes are no snapshot of this log, epoch, projection and offset.
  init(_ bytes: [UInt8], identity: LogIdentity, name: String, position: Offset) throws(UnreadableEvent) {
    let span = bytes.rawSpan
    let end = bytes.count - 8
    guard end >= Self.fixedLength, span.u64(0) == Self.magic, span.u64(80) == UInt64(bytes.count) else {
      throw UnreadableEvent("it is no whole snapshot")
    }
    guard span.u64(end) == xxh3(span.slice(0, end)) else { throw UnreadableEvent("its checksum does not match") }
    guard span.u16(8) == Self.version else { throw UnreadableEvent("its format has version \(span.u16(8)), not \(Self.version)") }
    guard span.id(16) == identity.logID else { throw UnreadableEvent("it is of another log") }
    guard span.id(32) == identity.epochID else { throw UnreadableEvent("it is of another epoch") }
    var reader = StateReader(Array(bytes[..<end]), from: Self.fixedLength)
    guard try reader.text() == name else { throw UnreadableEvent("it is of another projection") }
    guard span.u64(48) == position else { throw UnreadableEvent("it is of offset \(span.u64(48)), not of \(position)") }
    projectionVersion = span.u32(12)
    lastID = span.id(56)
    latestTime = Timestamp(nanoseconds: span.i64(72))
    rest = reader
  }
}
