internal import TidemarkLog

/// How far a history tree has come: the file `frontier`. Without it the tree is made again from the log.
///
/// ```
///   0         8        24         40     48             80      88         96        104                    n-8    n
///   +---------+--------+----------+------+--------------+-------+----------+---------+--- - - - --------------+------+
///   | TMTREE1 | log id | epoch id | size | session data | floor | last key | last    | compact ranges at size | hash |
///   |         |        |          |      | SHA-256      |       | event    | receipt | and at floor           |      |
///   +---------+--------+----------+------+--------------+-------+----------+---------+--- - - - --------------+------+
/// ```
struct Frontier {
  var range: CompactRange
  /// SHA-256 of the data of the session in force behind the last leaf.
  var session: Digest256
  /// Where the log began when this was written; empty if it was whole.
  var floor: CompactRange
  /// Offsets of the last events of these kinds below the size, 2^64-1 if there is none.
  var lastKeyRecord: Offset
  var lastReceipt: Offset

  static let none = Offset.max
  static let name = "frontier"
  private static let magic: [UInt8] = Array("TMTREE1".utf8) + [0]

  func encode(_ identity: LogIdentity) -> [UInt8] {
    var bytes = Self.magic
    bytes.add(identity.logID)
    bytes.add(identity.epochID)
    bytes.add(range.size)
    bytes += session.bytes
    bytes.add(floor.size)
    bytes.add(lastKeyRecord)
    bytes.add(lastReceipt)
    bytes += range.encoded
    bytes += floor.encoded
    bytes.add(xxh3(bytes.rawSpan))
    return bytes
  }

  /// Nil if the bytes are not the frontier of this log and epoch.
  init?(_ bytes: [UInt8], _ identity: LogIdentity) {
    let span = bytes.rawSpan
    guard bytes.count >= 112, bytes.starts(with: Self.magic), span.id(8) == identity.logID, span.id(24) == identity.epochID,
      span.u64(bytes.count - 8) == xxh3(span.slice(0, bytes.count - 8))
    else { return nil }
    let size = span.u64(40)
    let split = 104 + 32 * size.nonzeroBitCount
    guard split <= bytes.count - 8, let range = CompactRange(size: size, encoded: Array(bytes[104..<split])),
      let floor = CompactRange(size: span.u64(80), encoded: Array(bytes[split..<bytes.count - 8]))
    else { return nil }
    let events = [span.u64(88), span.u64(96)]
    guard floor.size <= size, events.allSatisfy({ $0 < size || $0 == Self.none }) else { return nil }
    self.init(range: range, session: Digest256(span.slice(48, 32)), floor: floor, lastKeyRecord: span.u64(88), lastReceipt: span.u64(96))
  }

  init(
    range: CompactRange = CompactRange(), session: Digest256 = .zero, floor: CompactRange = CompactRange(), lastKeyRecord: Offset = none,
    lastReceipt: Offset = none
  ) {
    self.range = range
    self.session = session
    self.floor = floor
    self.lastKeyRecord = lastKeyRecord
    self.lastReceipt = lastReceipt
  }
}
