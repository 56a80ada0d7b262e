internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

/// A file that is on its way here, or has come.
final class Upload: Sendable {
  let id: EventID
  let tenant: String
  /// The device that began it.
  let device: EventID
  let digest: Digest256
  let byteCount: UInt64
  /// Held for as long as a part is written.
  let state: Locked<State>
  /// When the last part came, in seconds since 1970.
  let time: Locked<UInt64>

  struct State {
    /// So many bytes survive a power cut.
    var offset: UInt64
    /// It is verified and has its name.
    var isComplete = false
    /// It was dropped.
    var isGone = false
  }

  init(id: EventID, tenant: String, device: EventID, digest: Digest256, byteCount: UInt64, offset: UInt64 = 0, time: UInt64) {
    self.id = id
    self.tenant = tenant
    self.device = device
    self.digest = digest
    self.byteCount = byteCount
    state = Locked(State(offset: offset))
    self.time = Locked(time)
  }

  // MARK: As it is kept

  /// Nil for what can't be read.
  convenience init?(_ bytes: [UInt8], id: EventID, tenant: String) {
    guard let object = try? JSONValue(bytes).object("the upload"), let device = try? object.id("device"),
      let digest = try? object.digest("digest"), let byteCount = try? object.offset("length"), let offset = try? object.offset("offset"),
      let time = try? object.number("time", in: 0...UInt64.max), offset <= byteCount
    else { return nil }
    self.init(id: id, tenant: tenant, device: device, digest: digest, byteCount: byteCount, offset: offset, time: time)
  }

  func json(_ offset: UInt64, _ time: UInt64) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("device", device)
    json.member("digest", digest)
    json.member("length", byteCount)
    json.member("offset", offset)
    json.member("time", time)
    json.endObject()
    return json.bytes
  }
}
