package import TidemarkLog
package import TidemarkProtocol

/// What became of an event that was not plainly accepted, as the ingest log and the rows keep it.
///
/// ```
///   0        8      9                              25                    41
///   +--------+------+------------------------------+---------------------+
///   | offset | code | of a duplicate: log          | offset, zeros       |
///   |        |      | of a conflict: digest there  | digest of this one  |
///   |        |      | else zeros                   | digest of this one  |
///   +--------+------+------------------------------+---------------------+
/// ```
package struct Verdict: Sendable, Equatable {
  package enum Code: UInt8, Sendable {
    case duplicate = 1
    case conflict, tooLarge, typeNotAllowed
  }

  package var offset: Offset
  package var code: Code
  /// Of a duplicate the log that has it, of a conflict the digest of the first.
  package var first: EventID
  /// Of a duplicate the offset there, else the event's digest.
  package var second: EventID

  static let byteCount = 41

  package static func duplicate(_ offset: Offset, of log: EventID, at first: Offset) -> Verdict {
    Verdict(offset: offset, code: .duplicate, first: log, second: EventID(high: first, low: 0))
  }

  package static func quarantined(_ entry: Examination.Entry, _ reason: Outcome.Reason, first: ShortDigest = .zero) -> Verdict {
    let code: Code =
      switch reason {
      case .conflict: .conflict
      case .tooLarge: .tooLarge
      case .typeNotAllowed: .typeNotAllowed
      }
    return Verdict(offset: entry.offset, code: code, first: first, second: entry.digest)
  }

  /// Nil for a duplicate.
  package var reason: Outcome.Reason? {
    switch code {
    case .duplicate: nil
    case .conflict: .conflict
    case .tooLarge: .tooLarge
    case .typeNotAllowed: .typeNotAllowed
    }
  }

  /// As the device is told.
  package var outcome: Outcome {
    guard let reason else { return Outcome(offset: offset, kind: .duplicate(log: first, offset: second.high)) }
    let detail =
      switch reason {
      case .conflict: "another event has this id; the first one stays"
      case .tooLarge: "the record is larger than this server takes"
      case .typeNotAllowed: "events of this type are not taken here"
      }
    let digests = reason == .conflict ? [first, second] : [second]
    return Outcome(offset: offset, kind: .quarantined(reason, detail: detail, digests: digests.map(\.hexadecimal)))
  }

  package static func encode(_ verdicts: [Verdict]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(verdicts.count * byteCount)
    for verdict in verdicts {
      bytes.add(verdict.offset)
      bytes.append(verdict.code.rawValue)
      bytes.add(verdict.first)
      bytes.add(verdict.second)
    }
    return bytes
  }

  /// Nil for what is no list of them.
  package static func decode(_ bytes: RawSpan) -> [Verdict]? {
    guard bytes.byteCount % byteCount == 0 else { return nil }
    var verdicts: [Verdict] = []
    verdicts.reserveCapacity(bytes.byteCount / byteCount)
    for at in stride(from: 0, to: bytes.byteCount, by: byteCount) {
      guard let code = Code(rawValue: bytes.u8(at + 8)) else { return nil }
      verdicts.append(Verdict(offset: bytes.u64(at), code: code, first: bytes.id(at + 9), second: bytes.id(at + 25)))
    }
    return verdicts
  }
}
