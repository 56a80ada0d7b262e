package import TidemarkEvidence
package import TidemarkLog
package import TidemarkProjections
package import TidemarkProtocol

/// The first 16 bytes of SHA-256 over an event's content (`ContentDigest.content(of:)`), held as an id is.
package typealias ShortDigest = EventID

/// What a shipment holds behind what the server has: hashed, with the tree and the key that follow from it. The same for what a device
/// sends and for what the ingest log gives back.
package struct Examination: Sendable {
  /// A caller's event.
  package struct Entry: Sendable {
    package var offset: Offset
    package var id: EventID
    package var digest: ShortDigest
    /// Why it is put aside, whatever the tenant has.
    package var reason: Outcome.Reason?
    /// What it says about an item.
    package var fact: ItemFact?
    /// The files that it names.
    package var attachments: [EventExtension.Attachment] = []
  }

  /// Where it begins: what the server had.
  package let base: Offset
  /// The tree at the shipment's end.
  package let range: CompactRange
  /// The key that signs checkpoints of that size.
  package let key: [UInt8]
  /// In the order of their offsets, without control events and lost ones.
  package let entries: [Entry]

  /// - Parameters:
  ///   - known: the tree of what the server has, or that at the shipment's beginning.
  ///   - key: the one in force there. A key event in the shipment counts if it follows from it.
  ///   - reason: why an event is put aside, whatever the tenant has.
  ///
  /// Throws `LogError.Code.corrupt` for a malformed record.
  package init(
    of shipment: Shipment, from known: CompactRange, key: [UInt8], reason: (EventView) -> Outcome.Reason?
  ) throws(LogError) {
    var key = key
    var entries: [Entry] = []
    entries.reserveCapacity(shipment.offsets.count)
    let hasher = SHA256()
    var content: [UInt8] = []
    range = try shipment.extend(known, hasher) { (event) throws(LogError) in
      if event.kind == .keyRotation {
        let record = KeyRecord(event.data.array(), logID: shipment.logID, epochID: shipment.epochID)
        if let record, record.previous == key { key = record.publicKey }
      }
      if event.isControl { return }
      ContentDigest.content(of: event, into: &content)
      let digest = hasher.hash(content)
      entries.append(
        Entry(
          offset: event.offset, id: event.id, digest: digest.leading, reason: reason(event), fact: ItemFact(event),
          attachments: Self.attachments(event)))
    }
    base = known.size
    self.key = key
    self.entries = entries
  }

  /// One whose extensions can't be taken apart names no file.
  private static func attachments(_ event: EventView) -> [EventExtension.Attachment] {
    ((try? event.extensions) ?? []).compactMap { if case .attachment(let attachment) = $0 { attachment } else { nil } }
  }
}
