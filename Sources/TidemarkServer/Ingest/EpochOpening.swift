package import TidemarkEvidence
package import TidemarkLog
internal import TidemarkProtocol
package import TidemarkText

/// The first handshake of an epoch, as the ingest log keeps it: whose it is, which key signs it, and where it begins.
package struct EpochOpening: Message {
  package static let what = "the opening of an epoch"
  static let type = "epoch"
  package var tenant: String
  package var device: EventID
  package var log: EventID
  package var epoch: EventID
  /// Signs its checkpoints until a key event says otherwise.
  package var key: [UInt8]
  /// The epoch that it continues.
  package var parent: EventID?
  /// The tree of what the server has of it from the parent.
  package var start: CompactRange

  package init(tenant: String, device: EventID, log: EventID, epoch: EventID, key: [UInt8], parent: EventID?, start: CompactRange) {
    self.tenant = tenant
    self.device = device
    self.log = log
    self.epoch = epoch
    self.key = key
    self.parent = parent
    self.start = start
  }

  package init(_ object: JSONObject) throws(TextError) {
    guard let start = CompactRange(size: try object.offset("start"), encoded: try object.base64("range")) else {
      throw object.wrong("range", "is of another size")
    }
    self.init(
      tenant: try object.string("tenant", upTo: 255), device: try object.id("device"), log: try object.id("log"),
      epoch: try object.id("epoch"), key: try object.base64("key", byteCount: 32),
      parent: object["parent"] == nil ? nil : try object.id("parent"), start: start)
  }

  package func write(to json: inout JSONWriter) {
    json.member("tenant", tenant)
    json.member("device", device)
    json.member("log", log)
    json.member("epoch", epoch)
    json.member("key", base64: key)
    if let parent { json.member("parent", parent) }
    json.member("start", start.size)
    json.member("range", base64: start.encoded)
  }
}

/// What an archive has made safe, as the ingest log keeps it.
package struct Settling: Message {
  package static let what = "the settling of an epoch"
  static let type = "settled"
  package var log: EventID
  package var epoch: EventID
  package var size: Offset

  package init(log: EventID, epoch: EventID, size: Offset) {
    self.log = log
    self.epoch = epoch
    self.size = size
  }

  package init(_ object: JSONObject) throws(TextError) {
    self.init(log: try object.id("log"), epoch: try object.id("epoch"), size: try object.offset("size"))
  }

  package func write(to json: inout JSONWriter) {
    json.member("log", log)
    json.member("epoch", epoch)
    json.member("size", size)
  }
}

/// What an operator decided about a quarantined event, as the ingest log keeps it.
package struct Judgement: Message {
  package static let what = "a judgement"
  static let type = "judgement"
  package var tenant: String
  /// Of the quarantined event.
  package var number: UInt64
  /// Whether it becomes a change, or is dismissed.
  package var releases: Bool
  /// When, since 1970; nil until it is written, and in what servers wrote that let no released event change an item.
  package var seconds: UInt64?

  package init(tenant: String, number: UInt64, releases: Bool) {
    self.tenant = tenant
    self.number = number
    self.releases = releases
  }

  package init(_ object: JSONObject) throws(TextError) {
    self.init(
      tenant: try object.string("tenant", upTo: 255), number: try object.number("number", in: 1...UInt64.max),
      releases: try object.bool("releases"))
    seconds = try object.optionalNumber("seconds", in: 1...UInt64(Int64.max))
  }

  package func write(to json: inout JSONWriter) {
    json.member("tenant", tenant)
    json.member("number", number)
    json.member("releases", releases)
    if let seconds { json.member("seconds", seconds) }
  }
}
