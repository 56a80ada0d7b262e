import TestSupport
import TidemarkLog
import TidemarkProjections

/// A log on a simulated disk, with small segments and no threads.
final class Fixture {
  let disk: SimulatedDisk
  let clock: SteppingClock
  let environment: Environment
  let options: LogOptions
  private(set) var log: Log

  init(disk: SimulatedDisk = SimulatedDisk(), seed: UInt64 = 1, durability: Durability = .synced) throws {
    self.disk = disk
    clock = SteppingClock()
    environment = .simulated(disk, seed: seed, clock: clock)
    var options = LogOptions()
    options.segmentByteCount = 8192
    options.zerosAheadByteCount = 2048
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    options.durability = durability
    self.options = options
    try Log.create(at: "/log", options: options, environment: environment)
    log = try Log.open(at: "/log", options: options, environment: environment)
  }

  func reopen() throws {
    try? log.close()
    log = try Log.open(at: "/log", options: options, environment: environment)
  }

  func cutPower(_ cut: PowerCut = .losesEverything) throws {
    disk.powerCycle(cut)
    log = try Log.open(at: "/log", options: options, environment: environment)
  }

  func reader() throws -> Log { try Log.openForReading(at: "/log", options: options, environment: environment) }
}

func id(_ number: Int) -> EventID { EventID(high: 0x0123_4567_89AB_7000, low: 0x8000_0000_0000_0000 | UInt64(number) &* 0x9E37_79B9) }

/// An event whose data is text; `superseding` is the number of another's id.
func event(_ text: String, _ number: Int? = nil, superseding: Int? = nil, type: String = "test", subject: String? = nil) -> NewEvent {
  NewEvent(
    type: type, subject: subject, id: number.map { id($0) }, extensions: superseding.map { [.supersedes(id($0))] } ?? [],
    data: Array(text.utf8))
}

extension EventView {
  var text: String { String(decoding: data.array(), as: UTF8.self) }
}

func error(_ body: () throws -> Void) -> LogError? {
  do {
    try body()
    return nil
  } catch {
    return error as? LogError
  }
}

/// Every event's place and text in order: a value that shows any mistake in what was folded, and in which order.
struct Trail: Projection {
  var name = "trail"
  var version: UInt32 = 1
  var initial: [String] { [] }

  func apply(_ event: EventView, at place: Place, to state: inout [String]) throws {
    if event.text.hasPrefix("?") { throw UnreadableEvent("it begins with a question mark") }
    state.append("\(place.offset):\(event.text)")
  }

  func encode(_ state: [String]) -> [UInt8] { Array(state.joined(separator: "\n").utf8) }
  func decode(_ bytes: [UInt8]) throws -> [String] {
    if bytes.first == UInt8(ascii: "!") { throw UnreadableEvent("no trail") }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}

/// The numbers in the events, added: takes corrections out again without folding anew.
struct Total: Projection {
  var name = "total"
  var version: UInt32 = 1
  var initial: Int { 0 }

  private func number(_ event: EventView) throws -> Int {
    guard let number = Int(event.text) else { throw UnreadableEvent("no number") }
    return number
  }
  func apply(_ event: EventView, at place: Place, to state: inout Int) throws { state += try number(event) }
  func retract(_ event: EventView, at place: Place, from state: inout Int) throws -> Bool {
    state -= try number(event)
    return true
  }
  func encode(_ state: Int) -> [UInt8] { Array(String(state).utf8) }
  func decode(_ bytes: [UInt8]) throws -> Int {
    guard let number = Int(String(decoding: bytes, as: UTF8.self)) else { throw UnreadableEvent("no number") }
    return number
  }
}

/// What the events below an offset give by the letter of `Specs/projections.md`, found without any of the engine's means.
enum Reference {
  /// Place and text of all that counts, in order of places.
  static func counting(_ log: Log, below end: Offset, isIncluded: (Event) -> Bool = { _ in true }) throws -> [(place: Offset, text: String)]
  {
    let events = try log.events(in: 0..<end).filter(isIncluded)
    var ids: [EventID: Int] = [:]
    for (index, event) in events.enumerated() { ids[event.id] = index }
    let targets = try events.map { event -> EventID? in
      for case .supersedes(let id) in try event.extensions { return id }
      return nil
    }
    let named = Set(targets.compactMap(\.self))
    // Families: everything that is joined by naming, those not in the log included.
    var family: [EventID: EventID] = [:]
    func root(_ id: EventID) -> EventID {
      var at = id
      while let next = family[at], next != at { at = next }
      return at
    }
    for (event, target) in zip(events, targets) { if let target { family[root(event.id)] = root(target) } }
    var members: [EventID: [Int]] = [:]
    for (index, event) in events.enumerated() { members[root(event.id), default: []].append(index) }
    var counting: [(place: Offset, text: String)] = []
    for (_, indexes) in members {
      let free = indexes.filter { !named.contains(events[$0].id) }
      guard let standing = (free.isEmpty ? indexes : free).max(), let first = indexes.min() else { continue }
      let place = indexes.first { targets[$0] == nil } ?? first
      counting.append((events[place].offset, String(decoding: events[standing].data, as: UTF8.self)))
    }
    return counting.sorted { $0.place < $1.place }
  }

  static func trail(_ log: Log, below end: Offset, isIncluded: (Event) -> Bool = { _ in true }) throws -> [String] {
    try counting(log, below: end, isIncluded: isIncluded).filter { !$0.text.hasPrefix("?") }.map { "\($0.place):\($0.text)" }
  }
}

/// Events that correct each other in every way: chains, corrections of corrections, early ones, cycles, themselves.
func tangle(_ random: inout SeededRandom, count: Int, oneIn: Int = 3) -> [NewEvent] {
  (0..<count).map { number in
    let text = random.isOneIn(8) ? "?" : "\(random.number(below: 100))"
    return event(text, number, superseding: random.isOneIn(oneIn) ? random.number(below: count + 2) : nil)
  }
}
