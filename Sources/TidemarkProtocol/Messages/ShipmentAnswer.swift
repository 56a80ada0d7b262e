package import TidemarkEvidence
package import TidemarkLog
package import TidemarkText

/// What became of an event that was not plainly accepted.
package struct Outcome: Message {
  package static let what = "an outcome"
  package var offset: Offset
  package var kind: Kind

  package enum Kind: Sendable, Equatable {
    /// The tenant has the event already, from there.
    case duplicate(log: EventID, offset: Offset)
    /// Kept apart, with the reason.
    case quarantined(Reason, detail: String, digests: [String])
  }

  package enum Reason: String, Sendable, CaseIterable {
    case conflict
    case tooLarge = "too-large"
    case typeNotAllowed = "type-not-allowed"
  }

  package init(offset: Offset, kind: Kind) {
    self.offset = offset
    self.kind = kind
  }

  package init(_ object: JSONObject) throws(TextError) {
    offset = try object.offset("offset")
    switch try object.string("outcome") {
    case "duplicate":
      let first = try object.object("of")
      kind = .duplicate(log: try first.id("log"), offset: try first.offset("offset"))
    case "quarantined":
      guard let reason = Reason(rawValue: try object.string("reason")) else { throw object.wrong("reason", "is not known") }
      var digests: [String] = []
      if object["digests"] != nil {
        for element in try object.array("digests") { if case .string(let text) = element { digests.append(text) } }
      }
      kind = .quarantined(reason, detail: try object.optionalString("detail") ?? "", digests: digests)
    default: throw object.wrong("outcome", "is not known")
    }
  }

  package func write(to json: inout JSONWriter) {
    json.member("offset", offset)
    switch kind {
    case .duplicate(let log, let offset):
      json.member("outcome", "duplicate")
      json.name("of")
      json.beginObject()
      json.member("log", log)
      json.member("offset", offset)
      json.endObject()
    case .quarantined(let reason, let detail, let digests):
      json.member("outcome", "quarantined")
      json.member("reason", reason.rawValue)
      json.member("detail", detail)
      json.name("digests")
      json.beginArray()
      for digest in digests { json.string(digest) }
      json.endArray()
    }
  }

  static func list(_ object: JSONObject, _ name: String) throws(TextError) -> [Outcome] {
    var outcomes: [Outcome] = []
    for element in try object.array(name) { outcomes.append(try Outcome(try element.object(Outcome.what))) }
    return outcomes
  }

  static func write(_ outcomes: [Outcome], _ name: String, to json: inout JSONWriter) {
    json.name(name)
    json.beginArray()
    for outcome in outcomes {
      json.beginObject()
      outcome.write(to: &json)
      json.endObject()
    }
    json.endArray()
  }
}

/// What answers a shipment.
package struct ShipmentAnswer: Message {
  package static let what = "the answer to a shipment"
  package var log: EventID
  package var epoch: EventID
  package var offsets: Range<Offset>
  package var generation: EventID
  package var accepted: Offset
  package var settled: Offset
  /// The change numbers that were given; nil if none was.
  package var changes: ClosedRange<UInt64>?
  package var outcomes: [Outcome]
  package var receipt: SignedNote

  package init(
    log: EventID, epoch: EventID, offsets: Range<Offset>, generation: EventID, accepted: Offset, settled: Offset,
    changes: ClosedRange<UInt64>?, outcomes: [Outcome], receipt: SignedNote
  ) {
    self.log = log
    self.epoch = epoch
    self.offsets = offsets
    self.generation = generation
    self.accepted = accepted
    self.settled = settled
    self.changes = changes
    self.outcomes = outcomes
    self.receipt = receipt
  }

  package init(_ object: JSONObject) throws(TextError) {
    let (from, to) = (try object.offset("from"), try object.offset("to"))
    guard from < to || planted(.messages) else { throw object.wrong("to", "is not above \"from\"") }
    guard let receipt = try object.optionalNote("receipt") else { throw object.wrong("receipt", "is missing") }
    let outcomes = try Outcome.list(object, "outcomes")
    var changes: ClosedRange<UInt64>?
    if object["first_change"] != nil {
      let first = try object.number("first_change", in: 1...UInt64.max)
      changes = first...(try object.number("last_change", in: first...UInt64.max))
    }
    self.init(
      log: try object.id("log"), epoch: try object.id("epoch"), offsets: from..<to, generation: try object.id("generation"),
      accepted: try object.offset("accepted"), settled: try object.offset("settled"), changes: changes, outcomes: outcomes, receipt: receipt
    )
  }

  package func write(to json: inout JSONWriter) {
    json.member("log", log)
    json.member("epoch", epoch)
    json.member("from", offsets.lowerBound)
    json.member("to", offsets.upperBound)
    json.member("generation", generation)
    json.member("accepted", accepted)
    json.member("settled", settled)
    if let changes {
      json.member("first_change", changes.lowerBound)
      json.member("last_change", changes.upperBound)
    }
    Outcome.write(outcomes, "outcomes", to: &json)
    json.member("receipt", receipt.description)
  }
}
