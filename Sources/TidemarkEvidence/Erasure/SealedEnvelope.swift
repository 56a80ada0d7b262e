internal import TidemarkLog

/// What stands in the data of a sealed event.
///
/// ```
///   0         1       25           57                  n-16  n
///   +---------+-------+------------+-------------------+-----+
///   | version | nonce | commitment | ciphertext        | tag |
///   +---------+-------+------------+-------------------+-----+
/// ```
///
/// The message in the ciphertext:
///
/// ```
///   u16 length and subject | u8 length and actor | u8 length and content type | u16 length and extensions | data
/// ```
struct SealedEnvelope {
  static let version: UInt8 = 1
  static let messageStart = 57
  /// That of a message with nothing in it.
  static let minimumByteCount = messageStart + 6 + XChaCha20Poly1305.tagByteCount

  var nonce: [UInt8]
  var commitment: [UInt8]
  /// With the tag at its end.
  var ciphertext: [UInt8]

  func encode() -> [UInt8] { [Self.version] + nonce + commitment + ciphertext }

  /// Throws `LogError.Code.unsupportedVersion` and `LogError.Code.damagedEnvelope`.
  init(_ bytes: RawSpan, at offset: Offset) throws(LogError) {
    guard bytes.byteCount > 0 else { throw .damagedEnvelope(offset, "it is empty") }
    guard bytes.u8(0) == Self.version else {
      throw LogError(
        .unsupportedVersion, "a sealed event can't be opened", offsets: offset..<offset + 1,
        why: "its envelope has version \(bytes.u8(0)), not \(Self.version)", advice: "use a newer version of this program")
    }
    guard bytes.byteCount >= Self.minimumByteCount else {
      throw .damagedEnvelope(offset, "it has \(bytes.byteCount) bytes, and no envelope has fewer than \(Self.minimumByteCount)")
    }
    nonce = bytes.slice(1, 24).array()
    commitment = bytes.slice(25, 32).array()
    ciphertext = bytes.slice(Self.messageStart, bytes.byteCount - Self.messageStart).array()
  }

  init(nonce: [UInt8], commitment: [UInt8], ciphertext: [UInt8]) {
    self.nonce = nonce
    self.commitment = commitment
    self.ciphertext = ciphertext
  }

  // MARK: What is authenticated beside the message

  /// What the event shows in the clear: moved to another event, an envelope does not open.
  static func associatedData(id: EventID, key: EventID, type: RawSpan, subject: RawSpan, actor: RawSpan) -> [UInt8] {
    var bytes: [UInt8] = [version]
    bytes.add(id)
    bytes.add(key)
    bytes.add(UInt8(truncatingIfNeeded: type.byteCount))
    bytes.add(type)
    bytes.add(UInt16(truncatingIfNeeded: subject.byteCount))
    bytes.add(subject)
    bytes.add(UInt8(truncatingIfNeeded: actor.byteCount))
    bytes.add(actor)
    return bytes
  }

  // MARK: The message

  /// The lengths are checked before.
  static func encode(subject: String?, actor: String?, contentType: String?, extensions: [EventExtension], data: [UInt8]) -> [UInt8] {
    let (subject, actor, contentType) = (subject ?? "", actor ?? "", contentType ?? "")
    let extensions = EventExtension.encode(extensions)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(6 + subject.utf8.count + actor.utf8.count + contentType.utf8.count + extensions.count + data.count)
    bytes.add(UInt16(truncatingIfNeeded: subject.utf8.count))
    bytes.append(contentsOf: subject.utf8)
    bytes.add(UInt8(truncatingIfNeeded: actor.utf8.count))
    bytes.append(contentsOf: actor.utf8)
    bytes.add(UInt8(truncatingIfNeeded: contentType.utf8.count))
    bytes.append(contentsOf: contentType.utf8)
    bytes.add(UInt16(truncatingIfNeeded: extensions.count))
    bytes += extensions
    return bytes + data
  }

  /// Puts what a message says into an event. Only whoever has the key can have written it, but that is no reason to trap.
  static func decode(_ message: [UInt8], into event: inout NewEvent, at offset: Offset) throws(LogError) {
    var position = 0
    func part(_ lengthByteCount: Int) throws(LogError) -> (start: Int, count: Int) {
      let start = position + lengthByteCount
      guard start <= message.count else { throw .damagedEnvelope(offset, "the message in it ends early") }
      let count = lengthByteCount == 1 ? Int(message.rawSpan.u8(position)) : Int(message.rawSpan.u16(position))
      guard count <= message.count - start else { throw .damagedEnvelope(offset, "the message in it ends early") }
      position = start + count
      return (start, count)
    }
    func text(_ lengthByteCount: Int) throws(LogError) -> String? {
      let (start, count) = try part(lengthByteCount)
      return count == 0 ? nil : message.rawSpan.slice(start, count).text()
    }
    event.subject = try text(2)
    event.actor = try text(1)
    event.contentType = try text(1)
    let extensions = try part(2)
    event.extensions += try EventExtension.decode(message.rawSpan.slice(extensions.start, extensions.count))
    event.data = Array(message[position...])
  }
}

extension LogError {
  static func damagedEnvelope(_ offset: Offset, _ why: String) -> LogError {
    LogError(
      .damagedEnvelope, "a sealed event can't be opened", offsets: offset..<offset + 1, why: why,
      advice: "run verify, and compare with another copy of the log")
  }
}
