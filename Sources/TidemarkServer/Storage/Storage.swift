package import TidemarkEvidence
package import TidemarkLog
package import TidemarkProtocol

/// What a server keeps, but for accounts. What it returns of it is what survives a power cut.
package protocol Storage: AnyObject, Sendable {
  /// Another one after state may have been lost.
  var generation: EventID { get }

  /// Writes together, with one sync. Of each write what became of it: nil if it was made (or had been), else why not.
  func commit(_ writes: [Write], at time: Timestamp) -> [(any Error)?]

  /// Where an epoch stands; nil if it is not known.
  func position(log: EventID, epoch: EventID) throws -> Position?
  /// The device that introduced a log; nil if it is not known.
  func owner(of log: EventID) throws -> EventID?
  /// Of a device's logs, or of all of them.
  func positions(of device: EventID?) throws -> [Position]
  /// The tree of an epoch at a size; nil where the server does not have all up to there.
  func tree(of position: Position, at size: Offset) throws -> CompactRange?
  /// What was received of an epoch, in the order of offsets.
  func requests(of position: Position, overlapping offsets: Range<Offset>) throws -> [Request]
  /// A shipment as it came.
  func shipment(of request: Request) throws -> Shipment

  /// A tenant's last change number.
  func through(of tenant: String) throws -> UInt64
  /// Calls `body` with the changes of a tenant above a number, in order, until it returns false. Returns the number up to which all were
  /// given.
  ///
  /// - Parameter withEvents: false to pass over events.
  func changes(of tenant: String, since number: UInt64, withEvents: Bool, _ body: (Change) -> Bool) throws -> UInt64
  /// All of a tenant's items as they are, and the last change number at that.
  func snapshot(of tenant: String) throws -> (through: UInt64, items: [PublishedItem])
  /// The version of an item that is due next.
  func nextVersion(of item: String, in tenant: String) throws -> UInt64
  /// When time alone changes something next, in seconds since 1970; nil if it does not.
  func nextTime() throws -> UInt64?
  /// Files that events of a device, or of all, name and that are not here, in the order of logs and offsets.
  ///
  /// - Parameter isHere: tells of a file whether it is; then it is not asked again.
  func awaited(of device: EventID?, isHere: (AwaitedFile) throws -> Bool) throws -> [AwaitedFile]
  /// What was put aside and not decided yet, of a tenant or of all.
  func quarantine(of tenant: String?) throws -> [Quarantined]
}

/// What is to be written.
package enum Write: Sendable {
  case opening(EpochOpening)
  case shipment(ShipmentWrite)
  case settling(Settling)
  case judgement(Judgement)
  case item(ItemRecord)
  case time(TimeRecord)
}

/// A shipment that was verified.
package struct ShipmentWrite: Sendable {
  package var tenant: String
  package var device: EventID
  package var shipment: Shipment
  package var examination: Examination
  /// What the server had of the epoch when it was verified.
  package var accepted: Offset
  /// The key that is in force where it begins, if that is not known from what the server has.
  package var key: [UInt8]?
  /// Whether it settles what it brings.
  package var settles: Bool

  package init(
    tenant: String, device: EventID, shipment: Shipment, examination: Examination, accepted: Offset, key: [UInt8]?, settles: Bool
  ) {
    self.tenant = tenant
    self.device = device
    self.shipment = shipment
    self.examination = examination
    self.accepted = accepted
    self.key = key
    self.settles = settles
  }
}

/// The epoch has grown since a shipment was verified: that has to be done again.
package struct Moved: Error {}

/// Where an epoch stands.
package struct Position: Sendable, Equatable {
  /// The row's number.
  var number: Int64
  package var tenant: String
  package var device: EventID
  package var log: EventID
  package var epoch: EventID
  /// The epoch that it continues, and where it begins.
  package var parent: EventID?
  package var start: CompactRange
  /// The tree of what the server has.
  package var range: CompactRange
  /// Signs checkpoints of that size.
  package var key: [UInt8]
  package var settled: Offset
  /// Of the newest receipt; 0 if there is none.
  package var seconds: UInt64
  /// Offsets that the device no longer had.
  package var holes: [Range<Offset>]
  /// How many of its events were put aside and not decided yet.
  package var quarantined: UInt64

  package var accepted: Offset { range.size }
}

/// A shipment that the server has.
package struct Request: Sendable, Equatable {
  /// Of its event in the ingest log.
  package var ingest: Offset
  package var log: EventID
  package var epoch: EventID
  /// What it brought.
  package var offsets: Range<Offset>
  package var changes: ClosedRange<UInt64>?
  /// When it was received, in seconds since 1970.
  package var seconds: UInt64
  /// The checkpoint at its end, as the device signed it.
  package var note: [UInt8]
  /// The tree at its end.
  package var range: CompactRange
  package var verdicts: [Verdict]
}

/// An event that was put aside.
package struct Quarantined: Sendable, Equatable {
  package var tenant: String
  /// Counted for each tenant, from 1.
  package var number: UInt64
  package var device: EventID
  package var log: EventID
  package var epoch: EventID
  package var verdict: Verdict
}

/// What changed, for whoever follows a tenant.
package enum Change: ~Escapable {
  /// An event of a log was accepted, or released.
  case event(number: UInt64, device: EventID, log: EventID, epoch: EventID, EventView)
  /// An item, or what belongs to it; `body` is the change as it is sent. For one device alone unless that is zero.
  case item(number: UInt64, body: [UInt8], place: String, person: String, device: EventID)
}

/// An item as it is sent, and who may see it.
package struct PublishedItem: Sendable, Equatable {
  package var json: [UInt8]
  package var place: String
  package var person: String
}

/// A file that an event names.
package struct AwaitedFile: Sendable, Equatable {
  package var tenant: String
  package var device: EventID
  package var log: EventID
  package var epoch: EventID
  /// The epoch's row.
  var number: Int64
  package var offset: Offset
  package var event: EventID
  package var digest: Digest256
  package var byteCount: UInt64
  /// For people.
  package var name: String
}
