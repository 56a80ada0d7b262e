package import TidemarkEvidence
package import TidemarkLog
package import TidemarkText

/// `PUT /v1/logs/{log}/epochs/{epoch}`: where a device stands.
package struct Handshake: Message {
  package static let what = "the handshake"
  /// The first offset that the device keeps.
  package var oldest: Offset
  /// What is durable, and its root.
  package var head: TreeHead
  /// Signs checkpoints of this size.
  package var key: VerifierKey
  /// The enrolled key's signature over ``introductionMessage(of:)``, where the key is another one.
  package var introduction: [UInt8]?
  /// The newest that the device holds.
  package var receipt: TreeHead?
  /// The offset below which the device knows what became of its events; the answer tells of those behind it.
  package var known: Offset?
  /// The epoch that this one continues, and where.
  package var parent: Parent?
  package var clock: Clock?
  package var program: String?

  package struct Parent: Sendable, Equatable {
    package var epoch: EventID
    package var fork: TreeHead

    package init(epoch: EventID, fork: TreeHead) {
      self.epoch = epoch
      self.fork = fork
    }
  }

  /// The device's clocks at sending.
  package struct Clock: Sendable, Equatable {
    package var wall: Timestamp
    package var elapsed: UInt64
    package var boot: EventID?

    package init(wall: Timestamp, elapsed: UInt64, boot: EventID?) {
      self.wall = wall
      self.elapsed = elapsed
      self.boot = boot
    }
  }

  package init(
    oldest: Offset, head: TreeHead, key: VerifierKey, introduction: [UInt8]? = nil, receipt: TreeHead? = nil, parent: Parent? = nil,
    clock: Clock? = nil, program: String? = nil
  ) {
    self.oldest = oldest
    self.head = head
    self.key = key
    self.introduction = introduction
    self.receipt = receipt
    self.parent = parent
    self.clock = clock
    self.program = program
  }

  /// What the enrolled key signs to introduce a log's key.
  package static func introductionMessage(of key: VerifierKey) -> [UInt8] { Array("tidemark log key v1\n\(key)\n".utf8) }

  package init(_ object: JSONObject) throws(TextError) {
    self.init(oldest: try object.offset("oldest"), head: try TreeHead(object), key: try object.key("key"))
    introduction = object["introduction"] == nil ? nil : try object.base64("introduction", byteCount: 64)
    receipt = object["receipt"] == nil ? nil : try TreeHead(try object.object("receipt"))
    if object["parent"] != nil {
      let parent = try object.object("parent")
      self.parent = Parent(epoch: try parent.id("epoch"), fork: try TreeHead(parent))
    }
    if object["clock"] != nil {
      let clock = try object.object("clock")
      self.clock = Clock(
        wall: try clock.time("wall"), elapsed: try clock.number("elapsed_ns", in: 0...UInt64.max),
        boot: clock["boot"] == nil ? nil : try clock.id("boot"))
    }
    known = try object.optionalNumber("known", in: 0...Record.offsetLimit)
    program = try object.optionalLabel("program")
    guard oldest <= head.size else { throw object.wrong("oldest", "is above \"size\"") }
  }

  package func write(to json: inout JSONWriter) {
    json.member("oldest", oldest)
    head.write(to: &json)
    json.member("key", key.description)
    if let introduction { json.member("introduction", base64: introduction) }
    if let receipt {
      json.name("receipt")
      json.beginObject()
      receipt.write(to: &json)
      json.endObject()
    }
    if let known { json.member("known", known) }
    if let parent {
      json.name("parent")
      json.beginObject()
      json.member("epoch", parent.epoch)
      parent.fork.write(to: &json)
      json.endObject()
    }
    if let clock {
      json.name("clock")
      json.beginObject()
      json.member("wall", clock.wall)
      json.member("elapsed_ns", clock.elapsed)
      if let boot = clock.boot { json.member("boot", boot) }
      json.endObject()
    }
    if let program { json.member("program", program) }
  }
}

extension TreeHead {
  /// The members `size` and `root`.
  package init(_ object: JSONObject) throws(TextError) { self.init(size: try object.offset("size"), root: try object.digest("root")) }

  package func write(to json: inout JSONWriter) {
    json.member("size", size)
    json.member("root", root)
  }
}

/// What a server takes at once.
package struct Limits: Message {
  package static let what = "the limits"
  /// The longest body of a shipment.
  package var requestBytes: UInt64 = 8 << 20
  /// Offsets in a shipment.
  package var events: UInt64 = 65_536
  /// A longer record is quarantined.
  package var eventBytes: UInt64 = 1 << 20
  /// Requests a second of one device.
  package var rate: UInt64 = 20

  package init() {}

  package init(_ object: JSONObject) throws(TextError) {
    requestBytes = try object.number("request_bytes", in: 1 << 16...1 << 30)
    events = try object.number("events", in: 1...1 << 30)
    eventBytes = try object.number("event_bytes", in: 48...1 << 30)
    rate = try object.number("rate", in: 1...1 << 30)
  }

  package func write(to json: inout JSONWriter) {
    json.member("request_bytes", requestBytes)
    json.member("events", events)
    json.member("event_bytes", eventBytes)
    json.member("rate", rate)
  }
}

/// What answers a ``Handshake``: where the server stands.
package struct HandshakeAnswer: Message {
  package static let what = "the answer to a handshake"
  package var log: EventID
  package var epoch: EventID
  package var generation: EventID
  /// Only the last one given for an epoch may ship.
  package var sender: EventID
  /// What the server has, and the root there.
  package var accepted: TreeHead
  package var settled: Offset
  /// Of the last shipment.
  package var receipt: SignedNote?
  /// What became of the events from ``Handshake/known`` on, up to ``accepted``; nil if that are too many to tell here.
  package var outcomes: [Outcome]?
  /// The tenant's last change number.
  package var through: UInt64
  package var limits: Limits

  package init(
    log: EventID, epoch: EventID, generation: EventID, sender: EventID, accepted: TreeHead, settled: Offset, receipt: SignedNote?,
    through: UInt64, limits: Limits
  ) {
    self.log = log
    self.epoch = epoch
    self.generation = generation
    self.sender = sender
    self.accepted = accepted
    self.settled = settled
    self.receipt = receipt
    self.through = through
    self.limits = limits
  }

  package init(_ object: JSONObject) throws(TextError) {
    self.init(
      log: try object.id("log"), epoch: try object.id("epoch"), generation: try object.id("generation"), sender: try object.id("sender"),
      accepted: TreeHead(size: try object.offset("accepted"), root: try object.digest("root")), settled: try object.offset("settled"),
      receipt: try object.optionalNote("receipt"), through: try object.number("through", in: 0...UInt64.max),
      limits: try Limits(try object.object("limits")))
    if object["outcomes"] != nil { outcomes = try Outcome.list(object, "outcomes") }
  }

  package func write(to json: inout JSONWriter) {
    json.member("log", log)
    json.member("epoch", epoch)
    json.member("generation", generation)
    json.member("sender", sender)
    json.member("accepted", accepted.size)
    json.member("root", accepted.root)
    json.member("settled", settled)
    if let receipt { json.member("receipt", receipt.description) } else { json.null("receipt") }
    if let outcomes { Outcome.write(outcomes, "outcomes", to: &json) }
    json.member("through", through)
    json.name("limits")
    json.beginObject()
    limits.write(to: &json)
    json.endObject()
  }
}
