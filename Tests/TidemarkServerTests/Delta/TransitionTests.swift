import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections
import TidemarkProtocol
import TidemarkReplication
import TidemarkText

/// Changes of state that two devices make without knowing of each other.
@Suite struct TransitionTests {
  @Test func `a change is own until the server has decided, and refused with the state in force`() throws {
    let server = try TestServer()
    let (terminal, other) = (try Terminal(server, seed: 1), try Terminal(server, seed: 2))
    try server.publish(#","state":"open""#)
    terminal.sync()
    other.sync()
    try terminal.change("open", "closed")
    let refused = try other.change("open", "escalated")
    #expect(try terminal.item().state == "closed" && terminal.item().isStateOwn && terminal.item().item.state == "open")
    #expect(try other.item().state == "escalated" && other.item().isStateOwn)
    terminal.sync()
    #expect(try terminal.item().state == "closed" && !terminal.item().isStateOwn && terminal.item().refusal == nil)
    other.sync()
    #expect(try other.item().state == "closed" && !other.item().isStateOwn)
    #expect(try other.item().refusal?.event == refused && other.item().refusal?.state == "closed")
    // The event stays as what happened.
    #expect(try Delivery(of: other.log).counts().accepted == 1)
    // The way out: from the state in force.
    try other.change("closed", "escalated")
    #expect(try other.item().refusal == nil && other.item().state == "escalated")
    other.sync()
    terminal.sync()
    #expect(try terminal.item().state == "escalated" && other.item().state == "escalated" && other.item().refusal == nil)
    // A refusal is for the device whose event it was.
    #expect(try terminal.item().refusal == nil)
    try server.expectSameAfterRebuilding()
  }

  /// Every order of what two devices do and send: at the end both, and the server, agree, and what was not applied was refused.
  @Test func `every order of two devices`() throws {
    // Each device makes two changes, and sends after each.
    for order in Self.interleavings([0, 0, 0, 0], [1, 1, 1, 1]) {
      let server = try TestServer()
      let terminals = try (1...2).map { try Terminal(server, seed: $0) }
      try server.publish(#","state":"open""#)
      for terminal in terminals { terminal.sync() }
      var steps = [0, 0]
      var made: [EventID] = []
      for device in order {
        defer { steps[device] += 1 }
        switch steps[device] {
        case 0: made.append(try terminals[device].change("open", "closed"))
        case 2: made.append(try terminals[device].change(terminals[device].item().state, device == 0 ? "open" : "escalated"))
        default: terminals[device].sync()
        }
      }
      for terminal in terminals { terminal.sync() }
      #expect(try terminals[0].lines() == server.items(), "\(order)")
      #expect(try terminals[1].lines() == server.items(), "\(order)")
      #expect(try terminals.allSatisfy { try !$0.item().isStateOwn }, "\(order)")
      // Each change is either applied or refused.
      let page = try server.admin("GET", "changes?tenant=acme&limit=10000")
      var decided: [String] = []
      for value in try page.array("changes") {
        let change = try value.object("a change")
        switch try change.string("kind") {
        case "state": decided.append(try change.string("by"))
        case "refused": decided.append(try change.string("event"))
        default: break
        }
      }
      #expect(Set(decided) == Set(made.map(\.description)) && decided.count == made.count, "\(order)")
    }
  }

  private static func interleavings(_ first: [Int], _ second: [Int]) -> [[Int]] {
    guard let a = first.first else { return [second] }
    guard let b = second.first else { return [first] }
    return interleavings(Array(first.dropFirst()), second).map { [a] + $0 }
      + interleavings(first, Array(second.dropFirst())).map { [b] + $0 }
  }
}
