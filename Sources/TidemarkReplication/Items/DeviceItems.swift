public import TidemarkLog
public import TidemarkProjections

/// The items that this device knows: what the office published for its place and person, and what was said about it here.
///
/// Two projections, each over its own log: what the server sent, and the device's own events. They are put together when asked, so in
/// whichever order the two logs grew, the answer is the same.
///
/// ```swift
/// let items = try DeviceItems(received: received, captures: log)
/// for item in try items.current() where item.persons["kim"] != .acknowledged(version: item.item.version) { ask(item) }
/// try log.append(DeviceItems.acknowledgement(of: "notice-3", version: 4, by: "kim"))
/// ```
public final class DeviceItems: Sendable {
  private let received: ProjectionRunner<ReceivedItems>?
  private let own: ProjectionRunner<OwnFacts>

  /// Nothing is folded yet.
  ///
  /// - Parameters:
  ///   - received: what the replicator keeps; nil if there is nothing yet.
  ///   - captures: the device's own events.
  ///
  /// Throws as `ProjectionRunner.init(_:of:options:)` does.
  public init(received: Log?, captures: Log) throws {
    var options = ProjectionOptions()
    // What a later version of the protocol sends is passed over.
    options.onUnreadable = .park
    self.received = try received.map { try ProjectionRunner(ReceivedItems(), of: $0, options: options) }
    own = try ProjectionRunner(OwnFacts(), of: captures, options: options)
  }

  /// All items, by name, with those that were withdrawn.
  ///
  /// - Parameter time: as of which time an item is open, at risk or missed; nil: now, by the device's clock.
  ///
  /// Throws as `ProjectionRunner.current()` does.
  public func current(at time: Timestamp? = nil) throws -> [DeviceItem] {
    // Own events first: what the server says of them is not older.
    let own = try own.current().state
    guard let received = try received?.current().state else { return [] }
    let log = self.own.log
    let time = time ?? log.environment.clock.now().time
    let decided = received.cursor?.accepted[log.identity.logID] ?? 0
    return DeviceItem.all(received, own, decidedBelow: decided, at: time)
  }

  /// Saves snapshots, so that the next one begins there. Throws as `ProjectionRunner.save()` does.
  public func save() throws {
    try received?.save()
    try own.save()
  }

  /// An event that says: this person has seen this version. Append it to the captures.
  public static func acknowledgement(of item: String, version: UInt64, by person: String) -> NewEvent {
    ItemFact.acknowledgement(item: item, version: version, actor: person).event()
  }

  /// An event that says: the item went from one state to another. It names the state that was seen; if the server has another one by then,
  /// it refuses the change, and ``DeviceItem/refusal`` tells.
  public static func transition(of item: String, from: String, to: String, by person: String?) -> NewEvent {
    ItemFact.transition(item: item, from: from, to: to).event(actor: person)
  }
}

/// An item with what this device adds to it.
///
/// What the server has not decided yet is *own*: the device's guess, by the same code, until the server's answer arrives.
public struct DeviceItem: Sendable, Equatable {
  /// As the server sent it.
  public var item: ReceivedItem
  /// With this device's own changes of state that the server has not decided yet.
  public var state: String
  /// Whether ``state`` is own.
  public var isStateOwn: Bool
  /// With persons who acknowledged it here, and whom the server has not counted yet.
  public var acknowledged: UInt64
  /// As of now; nil if nothing is asked for.
  public var status: ItemStatus?
  /// Whether ``status`` or ``acknowledged`` is own.
  public var isStatusOwn: Bool
  /// Where those stand who have acknowledged a version on this device.
  public var persons: [String: AcknowledgementState.Status]
  /// What the server said to this device's last change of state, if it refused that.
  public var refusal: ItemRefusal?

  static func all(
    _ received: ReceivedState, _ own: OwnFactsState, decidedBelow decided: Offset, at time: Timestamp
  ) -> [DeviceItem] {
    var acknowledgements = own.acknowledgements
    return received.items.values.sorted { $0.name < $1.name }.map { item in
      let persons = own.acknowledgements.persons(of: item.name)
      acknowledgements.publish(item, to: persons)
      return DeviceItem(item, persons, acknowledgements, own.transitions[item.name] ?? [], received.refusals, decided, time)
    }
  }

  private init(
    _ item: ReceivedItem, _ persons: [String], _ acknowledgements: AcknowledgementState, _ transitions: [OwnFactsState.Transition],
    _ refusals: [EventID: ItemRefusal], _ decided: Offset, _ time: Timestamp
  ) {
    self.item = item
    state = item.state
    for transition in transitions where transition.offset >= decided && refusals[transition.event] == nil && transition.from == state {
      state = transition.to
    }
    isStateOwn = state != item.state
    refusal = transitions.last.flatMap { refusals[$0.event] }
    let uncounted = persons.count { person in
      let places = acknowledgements.record(of: item.name, by: person)?.versions.filter {
        item.materialVersion <= $0.key && $0.key <= item.version
      }
      guard let places, !places.isEmpty else { return false }
      return places.values.allSatisfy { $0.offset >= decided }
    }
    acknowledged = item.acknowledged + UInt64(uncounted)
    status = item.terms.status(acknowledged: acknowledged, at: time.seconds)
    isStatusOwn = status != item.status || uncounted > 0
    self.persons = Dictionary(
      persons.compactMap { person in acknowledgements.status(of: item.name, by: person).map { (person, $0) } }, uniquingKeysWith: { $1 })
  }
}

extension AcknowledgementState {
  /// Takes in what is known of an item: its versions rise by one, so all up to the one in force were published.
  fileprivate mutating func publish(_ item: ReceivedItem, to persons: [String]) {
    let nowhere = Place(offset: 0, time: .earliest)
    func take(_ version: UInt64, _ state: inout AcknowledgementState) {
      state.take(.published(item: item.name, version: version, isMaterial: version == item.materialVersion), at: nowhere)
    }
    if item.materialVersion > 0 { take(item.materialVersion, &self) }
    take(item.version, &self)
    for version in Set(persons.flatMap { unseenVersions(of: item.name, by: $0) }) where version < item.version { take(version, &self) }
    if item.isWithdrawn { self.take(.withdrawn(item: item.name), at: nowhere) }
  }
}
