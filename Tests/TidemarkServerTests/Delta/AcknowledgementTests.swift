import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections
import TidemarkProtocol
import TidemarkReplication
import TidemarkText

/// What a person on a device without signal acknowledges, and what becomes of it.
@Suite struct AcknowledgementTests {
  private let due = #","due":"2033-01-01T00:00:00Z","required":2"#

  @Test func `an item comes down, is acknowledged, and is met`() throws {
    let server = try TestServer()
    let (terminal, other) = (try Terminal(server, seed: 1), try Terminal(server, seed: 2))
    try server.publish(due)
    terminal.sync()
    other.sync()
    #expect(try terminal.item().item.content == Array(#"{"text":"read this"}"#.utf8))
    #expect(try terminal.item().status == .open && terminal.item().isStatusOwn == false)
    try terminal.acknowledge(1, by: "ann")
    try terminal.acknowledge(1, by: "bob")
    // The device's own guess, marked as such.
    #expect(try terminal.item().acknowledged == 2)
    #expect(try terminal.item().status == .met && terminal.item().isStatusOwn)
    #expect(try terminal.item().item.status == .open)
    #expect(try other.item().acknowledged == 0)
    terminal.sync()
    other.sync()
    #expect(try terminal.item().status == .met && !terminal.item().isStatusOwn)
    #expect(try other.item().status == .met && !other.item().isStatusOwn)
    #expect(try terminal.lines() == server.items())
    try server.expectSameAfterRebuilding()
  }

  @Test(arguments: [false, true]) func `3 acknowledged while 4 is published`(_ isMaterial: Bool) throws {
    let server = try TestServer()
    let terminal = try Terminal(server)
    for _ in 1...3 { try server.publish(due) }
    terminal.sync()
    try terminal.acknowledge(3)
    try server.publish(due + #","material":\#(isMaterial)"#)
    #expect(try terminal.item().persons["ann"] == .acknowledged(version: 3))
    terminal.sync()
    #expect(try terminal.item().item.version == 4)
    #expect(
      try terminal.item().persons["ann"] == (isMaterial ? .reacknowledge(acknowledged: 3, current: 4) : .acknowledged(version: 3)))
    #expect(try terminal.item().acknowledged == (isMaterial ? 0 : 1))
    #expect(try terminal.item().isStatusOwn == false)
    try terminal.acknowledge(4)
    terminal.sync()
    #expect(try terminal.item().persons["ann"] == .acknowledged(version: 4))
    #expect(try terminal.item().acknowledged == 1)
    #expect(try terminal.lines() == server.items())
  }

  @Test func `a version that was not seen yet counts from the moment it is published, on both sides`() throws {
    let server = try TestServer()
    let terminal = try Terminal(server)
    try terminal.acknowledge(2)
    terminal.sync()
    try server.publish(due)
    terminal.sync()
    #expect(try terminal.item().persons["ann"] == .pending && terminal.item().acknowledged == 0)
    #expect(try terminal.lines() == server.items())
    try server.publish(due)
    terminal.sync()
    #expect(try terminal.item().persons["ann"] == .acknowledged(version: 2) && terminal.item().acknowledged == 1)
    #expect(try terminal.lines() == server.items())
    try server.expectSameAfterRebuilding()
  }

  @Test func `an event that supersedes an acknowledgement takes nothing back, on neither side`() throws {
    let server = try TestServer()
    let terminal = try Terminal(server)
    try server.publish(due)
    terminal.sync()
    for person in ["ann", "bob"] {
      try terminal.acknowledge(1, by: person)
      let said = try terminal.log.event(at: terminal.log.size - 1)
      try terminal.log.append(NewEvent(type: "scan", extensions: [.supersedes(said.id)]))
    }
    #expect(try terminal.item().acknowledged == 2 && terminal.item().status == .met)
    try terminal.reopen()
    #expect(try terminal.item().acknowledged == 2)
    terminal.sync()
    #expect(try terminal.item().acknowledged == 2 && !terminal.item().isStatusOwn)
    #expect(try terminal.lines() == server.items())
  }

  @Test func `after withdrawal it is kept, and counts if the item is published again`() throws {
    let server = try TestServer()
    let terminal = try Terminal(server)
    try server.publish(due)
    terminal.sync()
    try server.withdraw()
    try terminal.acknowledge(1)
    #expect(try terminal.item().persons["ann"] == .acknowledged(version: 1))
    terminal.sync()
    #expect(try terminal.item().item.isWithdrawn && terminal.item().persons["ann"] == .withdrawn)
    try server.publish(due + #","material":false"#)
    terminal.sync()
    #expect(try terminal.item().persons["ann"] == .acknowledged(version: 1) && terminal.item().acknowledged == 1)
    #expect(try terminal.lines() == server.items())
  }

  /// The server's rows and the projection of the same facts say the same, whatever came in whatever order.
  @Test(arguments: 0..<24) func `server and device agree with the projection`(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let server = try TestServer()
    let terminals = try (1...2).map { try Terminal(server, seed: $0) }
    var facts = AcknowledgementState()
    var version: UInt64 = 0
    var isWithdrawn = true
    var material: UInt64 = 0
    var pending: [[(String, UInt64)]] = [[], []]
    var place = Place(offset: 0, time: .earliest)
    for _ in 0..<40 {
      place.offset += 1
      switch random.next() % 8 {
      case 0:
        let isMaterial = random.next() % 2 == 0 || version == 0
        version = try server.publish(due + #","material":\#(isMaterial)"#)
        if isMaterial { material = version }
        isWithdrawn = false
        facts.take(.published(item: "notice", version: version, isMaterial: isMaterial), at: place)
      case 1 where !isWithdrawn && random.next() % 3 == 0:
        try server.withdraw()
        version += 1
        isWithdrawn = true
        // A tombstone is a version, too.
        facts.take(.published(item: "notice", version: version, isMaterial: false), at: place)
        facts.take(.withdrawn(item: "notice"), at: place)
      case 2, 3:
        let index = Int(random.next() % 2)
        terminals[index].sync()
        for (person, version) in pending[index] {
          facts.take(.acknowledged(item: "notice", person: person, version: version, place: nil), at: place)
        }
        pending[index] = []
      default:
        let index = Int(random.next() % 2)
        let person = ["ann", "bob", "eve"][Int(random.next() % 3)]
        let named = max(1, version + 1 - min(version, random.next() % 4))
        try terminals[index].acknowledge(named, by: person)
        pending[index].append((person, named))
      }
    }
    for (index, terminal) in terminals.enumerated() {
      terminal.sync()
      for (person, version) in pending[index] {
        facts.take(.acknowledged(item: "notice", person: person, version: version, place: nil), at: place)
      }
    }
    for terminal in terminals { terminal.sync() }
    let count = facts.persons(of: "notice").count { person in
      if case .acknowledged(let version) = facts.status(of: "notice", by: person) { version >= material } else { false }
    }
    if !isWithdrawn {
      for terminal in terminals {
        #expect(try terminal.item().acknowledged == UInt64(count))
        #expect(try terminal.item().isStatusOwn == false)
        for (person, status) in try terminal.item().persons where status != .pending {
          // Another device's acknowledgements are not known here.
          if case .acknowledged = status { #expect(facts.status(of: "notice", by: person) != .pending) }
        }
      }
    }
    #expect(try terminals[0].lines() == server.items())
    #expect(try terminals[1].lines() == server.items())
    try server.expectSameAfterRebuilding()
  }
}
