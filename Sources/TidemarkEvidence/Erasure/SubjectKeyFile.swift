internal import TidemarkLog

/// A key as it lies in a file.
///
/// ```
///   0          8         10        12     16       32          48       80            n-8     n
///   +----------+---------+---------+------+--------+-----------+--------+--- - - - ---+-------+
///   | TMSUBKEY | version | length  | zero | key id | pseudonym | secret | subject     | hash  |
///   +----------+---------+---------+------+--------+-----------+--------+--- - - - ---+-------+
/// ```
///
/// The length is that of the subject; the hash is XXH3-64(0, bytes 0 to n-8).
enum SubjectKeyFile {
  /// "TMSUBKEY"
  private static var magic: UInt64 { 0x5945_4B42_5553_4D54 }
  private static var version: UInt16 { 1 }
  private static var fixedLength: Int { 80 }

  static func encode(_ key: SubjectKey) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.add(magic)
    bytes.add(version)
    bytes.add(UInt16(truncatingIfNeeded: key.subject.utf8.count))
    bytes.add(UInt32(0))
    bytes.add(key.id)
    bytes.add(key.pseudonym)
    bytes += key.secret
    bytes.append(contentsOf: key.subject.utf8)
    bytes.add(xxh3(bytes.rawSpan))
    return bytes
  }

  /// Throws `LogError.Code.damagedKey` and `LogError.Code.unsupportedVersion`.
  static func decode(_ bytes: [UInt8], id: EventID, path: String) throws(LogError) -> SubjectKey {
    let span = bytes.rawSpan
    let end = bytes.count - 8
    guard end >= fixedLength, span.u64(0) == magic, span.u64(end) == xxh3(span.slice(0, end)) else {
      throw damaged(path, "it is no whole key")
    }
    guard span.u16(8) == version else {
      throw LogError(
        .unsupportedVersion, "a subject's key can't be read", file: path, why: "its format has version \(span.u16(8)), not \(version)",
        advice: "use a newer version of this program")
    }
    guard fixedLength + Int(span.u16(10)) == end, span.id(16) == id else { throw damaged(path, "it is not the key of its name") }
    guard let subject = String(validating: bytes[fixedLength..<end], as: UTF8.self) else { throw damaged(path, "its subject is no text") }
    return SubjectKey(id: id, pseudonym: span.id(32), subject: subject, secret: Array(bytes[48..<80]))
  }

  private static func damaged(_ path: String, _ why: String) -> LogError {
    LogError(
      .damagedKey, "a subject's key can't be read", file: path, why: why,
      advice: "put a copy of the file in its place; without one, what was sealed under it can't be read")
  }
}
