// Entries of u16 tag, u16 length, value.
//
//   tag            value
//   1 correlation  id
//   2 causation    id
//   3 supersedes   id
//   4 attachment   u64 byte length, SHA-256 (32), u8 length and media type, u8 length and name
//   5 location fix i64 time, u64 elapsed, u32 accuracy in millimetres
//   6 subject key  id
//   7 attribute    u8 length and name, then the value

extension EventExtension {
  /// The length of all entries, or why they can't be stored.
  package static func encodedLength(_ extensions: [EventExtension]) throws(LogError) -> Int {
    var total = 0
    for entry in extensions { total += 4 + (try entry.valueLength()) }
    if total > Int(UInt16.max) {
      throw LogError(
        .stringTooLong, "the extensions of an event are too long", why: "they take \(total) bytes, the limit is 65535",
        advice: "move some into the data")
    }
    return total
  }

  private func valueLength() throws(LogError) -> Int {
    switch self {
    case .correlation, .causation, .supersedes, .subjectKey: return 16
    case .locationFix: return 20
    case .attachment(let attachment):
      if attachment.digest.count != 32 {
        throw LogError(
          .invalidEvent, "an attachment's digest is not a SHA-256", why: "it has \(attachment.digest.count) bytes", advice: "give 32 bytes")
      }
      return 40 + (try Self.shortLength("media type of an attachment", attachment.mediaType))
        + (try Self.shortLength("name of an attachment", attachment.name))
    case .attribute(let name, let value):
      if name.isEmpty { throw LogError(.invalidEvent, "an attribute has no name", advice: "name it") }
      return (try Self.shortLength("name of an attribute", name)) + value.utf8.count
    case .unknown(_, let value): return value.count
    }
  }

  private static func shortLength(_ what: String, _ text: String) throws(LogError) -> Int {
    let count = text.utf8.count
    if count > 255 {
      throw LogError(.stringTooLong, "the \(what) is too long", why: "it takes \(count) bytes, the limit is 255", advice: "shorten it")
    }
    return 1 + count
  }

  private var tag: UInt16 {
    switch self {
    case .correlation: 1
    case .causation: 2
    case .supersedes: 3
    case .attachment: 4
    case .locationFix: 5
    case .subjectKey: 6
    case .attribute: 7
    case .unknown(let tag, _): tag
    }
  }

  package static func encode(_ extensions: [EventExtension]) -> [UInt8] {
    var bytes: [UInt8] = []
    for entry in extensions {
      bytes.add(entry.tag)
      let start = bytes.count
      bytes.add(UInt16(0))
      switch entry {
      case .correlation(let id), .causation(let id), .supersedes(let id), .subjectKey(let id): bytes.add(id)
      case .attachment(let attachment):
        bytes.add(attachment.byteCount)
        bytes += attachment.digest
        bytes.addShortText(attachment.mediaType)
        bytes.addShortText(attachment.name)
      case .locationFix(let fix):
        bytes.add(fix.time.nanoseconds)
        bytes.add(fix.elapsed)
        bytes.add(fix.accuracyMillimetres)
      case .attribute(let name, let value):
        bytes.addShortText(name)
        bytes.append(contentsOf: value.utf8)
      case .unknown(_, let value): bytes += value
      }
      bytes.store(UInt16(truncatingIfNeeded: bytes.count - start - 2), at: start)
    }
    return bytes
  }

  package static func decode(_ bytes: RawSpan) throws(LogError) -> [EventExtension] {
    var entries: [EventExtension] = []
    var position = 0
    while position < bytes.byteCount {
      guard bytes.byteCount - position >= 4, Int(bytes.u16(position + 2)) <= bytes.byteCount - position - 4 else { throw malformed() }
      let value = bytes.slice(position + 4, Int(bytes.u16(position + 2)))
      entries.append(try decode(tag: bytes.u16(position), value))
      position += 4 + value.byteCount
    }
    return entries
  }

  private static func decode(tag: UInt16, _ value: RawSpan) throws(LogError) -> EventExtension {
    switch tag {
    case 1, 2, 3, 6:
      guard value.byteCount == 16 else { throw malformed() }
      let id = value.id(0)
      return tag == 1 ? .correlation(id) : tag == 2 ? .causation(id) : tag == 3 ? .supersedes(id) : .subjectKey(id)
    case 4:
      guard value.byteCount >= 41, let mediaType = shortText(value, at: 40), let name = shortText(value, at: 41 + Int(value.u8(40))) else {
        throw malformed()
      }
      return .attachment(Attachment(byteCount: value.u64(0), digest: value.slice(8, 32).array(), mediaType: mediaType, name: name))
    case 5:
      guard value.byteCount == 20 else { throw malformed() }
      return .locationFix(
        LocationFix(time: Timestamp(nanoseconds: value.i64(0)), elapsed: value.u64(8), accuracyMillimetres: value.u32(16)))
    case 7:
      guard let name = shortText(value, at: 0) else { throw malformed() }
      let start = 1 + Int(value.u8(0))
      return .attribute(name: name, value: value.slice(start, value.byteCount - start).text())
    default: return .unknown(tag: tag, value: value.array())
    }
  }

  private static func shortText(_ bytes: RawSpan, at position: Int) -> String? {
    guard position < bytes.byteCount, Int(bytes.u8(position)) < bytes.byteCount - position else { return nil }
    return bytes.slice(position + 1, Int(bytes.u8(position))).text()
  }

  private static func malformed() -> LogError {
    LogError(.corrupt, "the extensions of an event can't be taken apart", advice: "run verify; the event's other fields are sound")
  }
}
