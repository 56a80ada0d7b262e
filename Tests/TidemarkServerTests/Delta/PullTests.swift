import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProjections
import TidemarkProtocol
import TidemarkReplication
import TidemarkServer
import TidemarkText

/// Fetching that is interrupted, late, or answered by a server that is not what it was.
@Suite struct PullTests {
  private func fill(_ server: TestServer) throws {
    for index in 0..<6 { try server.publish(#","state":"open","place":"\#(index % 2 == 0 ? "gate" : "yard")""#, item: "item-\(index)") }
    try server.publish(item: "all")
    try server.publish(#","material":false"#, item: "all")
    try server.withdraw("item-0")
  }

  @Test func `interrupted at each request and each answer, it goes on, and nothing is there twice`() throws {
    let server = try TestServer()
    try fill(server)
    let clean = try Terminal(server, scope: #","place":"gate""#)
    clean.sync()
    let lines = try clean.lines()
    let count = clean.requests.count
    #expect(lines.count == 3)
    for step in 0..<count {
      for losesReply in [false, true] {
        let terminal = try Terminal(server, seed: UInt64(10 + step), scope: #","place":"gate""#)
        var index = 0
        terminal.fault = { request in
          defer { index += 1 }
          guard index == step else { return nil }
          if losesReply { _ = server.send(request) }
          return .failure(LogError(.transport, "no answer"))
        }
        terminal.sync()
        terminal.sync()
        #expect(try terminal.lines() == lines, "\(step)")
        #expect(try terminal.changeNumbers() == clean.changeNumbers(), "\(step)")
      }
    }
  }

  @Test(arguments: [nil, PowerCut.losesEverything, .keepsEverything, .seeded(5)])
  func `a device that stops at any call of its disk has the same at the end`(_ kind: PowerCut?) throws {
    let server = try TestServer()
    try fill(server)
    let clean = try Terminal(server, scope: #","place":"gate""#)
    clean.sync()
    let lines = try clean.lines()
    var call = 0
    while true {
      let terminal = try Terminal(server, seed: UInt64(100 + call), scope: #","place":"gate""#)
      try terminal.acknowledge(1, item: "item-2")
      terminal.disk.plan = FaultPlan(.cut(), at: terminal.disk.callCount + call)
      terminal.sync(requests: 8)
      let wasCut = terminal.disk.isCut
      try terminal.reopen(.some(kind))
      terminal.sync()
      #expect(try terminal.items().count == clean.items().count, "call \(call)")
      #expect(try terminal.lines().map { $0.dropLast() } == lines.map { $0.dropLast() }, "call \(call)")
      #expect(try terminal.item("item-2").acknowledged == 1 && !terminal.item("item-2").isStatusOwn, "call \(call)")
      let numbers = try terminal.changeNumbers()
      #expect(numbers == Array(Set(numbers)).sorted(), "call \(call)")
      if !wasCut { break }
      call += kind == nil ? 4 : 3
    }
    #expect(call > 20)
  }

  @Test func `a snapshot and what follows are all from zero`() throws {
    let server = try TestServer { $0.deviceChanges = 4 }
    let early = try Terminal(server, seed: 1)
    early.sync()
    for index in 0..<4 {
      try server.publish(#","state":"open""#, item: "item-\(index)")
      early.sync()
    }
    try early.acknowledge(1, item: "item-1")
    early.sync()
    try server.publish(item: "item-1")
    try server.withdraw("item-2")
    early.sync()
    let late = try Terminal(server, seed: 2)
    late.sync()
    #expect(late.requests.contains { $0.target == "/v1/changes/snapshot" })
    #expect(!early.requests.contains { $0.target == "/v1/changes/snapshot" })
    #expect(try late.lines() == early.lines() && late.lines() == server.items())
    try server.publish(item: "item-3")
    try server.publish(item: "new")
    for terminal in [early, late] { terminal.sync() }
    #expect(try late.lines() == early.lines() && late.lines() == server.items())
    // Far behind: what was withdrawn meanwhile goes, too.
    try server.withdraw("item-0")
    for _ in 0..<6 { try server.publish(item: "item-1") }
    late.sync()
    #expect(late.requests.count { $0.target == "/v1/changes/snapshot" } == 2)
    #expect(try late.lines() == server.items())
    // Saved and resumed, it is the same.
    try DeviceItems(received: late.received, captures: late.log).save()
    #expect(try late.lines() == server.items())
    try late.reopen()
    #expect(try late.lines() == server.items())
  }

  @Test func `another place brings other items, and an item that moves goes`() throws {
    let server = try TestServer()
    try fill(server)
    let terminal = try Terminal(server, scope: #","place":"gate","person":"ann""#)
    terminal.sync()
    #expect(try terminal.lines().map { $0.split(separator: " ")[0] } == ["all", "item-2", "item-4"])
    try server.publish(#","place":"yard""#, item: "item-2")
    try server.publish(#","person":"bob""#, item: "item-4")
    terminal.sync()
    #expect(try terminal.lines().map { $0.split(separator: " ")[0] } == ["all"])
    try server.publish(#","place":"gate""#, item: "item-2")
    terminal.sync()
    #expect(try terminal.lines().map { $0.split(separator: " ")[0] } == ["all", "item-2"])
    let version = try terminal.item("item-2").item.version
    #expect(version == 3)
    _ = try server.admin("POST", "devices/\(terminal.id.hexadecimal)/assign", #"{"place":"yard","person":"bob"}"#)
    terminal.sync()
    #expect(try terminal.lines().map { $0.split(separator: " ")[0] } == ["all", "item-1", "item-3", "item-4", "item-5"])
    _ = try server.admin("POST", "devices/\(terminal.id.hexadecimal)/assign", #"{"place":"gate"}"#)
    terminal.sync()
    #expect(try terminal.lines().map { $0.split(separator: " ")[0] } == ["all", "item-2"])
  }

  @Test func `a server that lost state numbers anew, and the device begins anew`() throws {
    let server = try TestServer()
    let terminal = try Terminal(server)
    try server.publish(#","state":"open""#)
    terminal.sync()
    let image = server.disk.image
    try server.publish(item: "lost")
    try terminal.acknowledge(1)
    terminal.sync()
    #expect(try terminal.item().acknowledged == 1 && !terminal.item().isStatusOwn)
    try server.reopen {
      server.disk.processKill()
      server.disk.image = image
      server.disk.processKill()
    }
    try server.publish(#","state":"new","material":false"#)
    terminal.sync()
    #expect(try terminal.lines() == server.items())
    #expect(try terminal.item().state == "new" && terminal.item("lost").item.isWithdrawn)
    #expect(try terminal.item().acknowledged == 1 && !terminal.item().isStatusOwn)
  }

  /// A device that asks again and again while many write sees each number that is for it once, in order, with none left out.
  @Test func `numbers under concurrent commits`() async throws {
    let server = try TestServer()
    let terminal = try Terminal(server, scope: #","place":"gate""#)
    let writers = try (1...3).map { try Terminal(server, seed: UInt64(50 + $0)) }
    // The server is safe to call from any task, and each device is used by one.
    nonisolated(unsafe) let (shared, devices) = (server, writers)
    let office = Task.detached {
      for index in 0..<60 {
        unsafe try shared.publish(index % 3 == 0 ? #","place":"yard""# : "", item: "item-\(index % 7)")
        if index % 10 == 9 { unsafe try? shared.withdraw("item-\(index % 7)") }
      }
    }
    let ships = Task.detached {
      for round in 0..<15 {
        for device in unsafe devices {
          try device.acknowledge(1, by: "person-\(round)", item: "item-\(round % 7)")
          try device.log.append(NewEvent(type: "scan"))
          device.sync(requests: 4)
        }
      }
    }
    for _ in 0..<40 { terminal.sync(requests: 20) }
    try await office.value
    try await ships.value
    terminal.sync()
    let page = try server.admin("GET", "changes?tenant=acme&limit=10000")
    var inScope: [UInt64] = []
    var all: [UInt64] = []
    for value in try page.array("changes") {
      let change = try value.object("a change")
      let number = try change.number("number", in: 1...UInt64.max)
      all.append(number)
      if try change.string("kind") == "item", (try change.optionalString("place") ?? "gate") == "gate" { inScope.append(number) }
    }
    #expect(all == Array(1...UInt64(all.count)))
    let seen = try terminal.changeNumbers()
    #expect(seen == Array(Set(seen)).sorted())
    #expect(Set(inScope).isSubset(of: Set(seen)))
    let yard = try terminal.items().filter { $0.item.place == "yard" && !$0.item.isWithdrawn }
    #expect(yard.isEmpty)
    try server.expectSameAfterRebuilding()
  }

  @Test func `a status changes with time, over a restart of the server, and the device knows it before`() throws {
    let server = try TestServer()
    let terminal = try Terminal(server)
    // The clock stands at 2023-11-14T22:13:20Z: due in a hundred seconds.
    try server.publish(#","due":"2023-11-14T22:15:00Z","required":1"#)
    terminal.sync()
    #expect(try terminal.item().item.status == .open)
    let items = try DeviceItems(received: terminal.received, captures: terminal.log)
    let later = Timestamp(nanoseconds: 1_700_000_090_000_000_000)
    #expect(try items.current(at: later).first?.status == .atRisk && items.current(at: later).first?.isStatusOwn == true)
    try server.reopen { server.clock.setWallClock(byNanoseconds: 90_000_000_000) }
    #expect(
      try server.wait {
        terminal.sync(); return try terminal.item().item.status == .atRisk
      })
    try server.reopen { server.clock.setWallClock(byNanoseconds: 90_000_000_000) }
    #expect(
      try server.wait {
        terminal.sync(); return try terminal.item().item.status == .missed
      })
    try server.expectSameAfterRebuilding()
    // An acknowledgement that arrives late counts.
    try terminal.acknowledge(1)
    terminal.sync()
    #expect(try terminal.item().item.status == .met)
    try server.expectSameAfterRebuilding()
  }

  @Test func `a request is held until there is something for the device`() throws {
    let server = try TestServer()
    let terminal = try Terminal(server, scope: #","place":"gate""#)
    terminal.sync()
    let device = try TestDevice(server)
    var request = device.request("GET", "/v1/changes?since=0")
    request.fields["prefer"] = "wait=60"
    let found = Locked<HTTPResponse?>(nil)
    server.server.handle(request) { reply in
      if case .answer(let response) = reply { found.withLock { $0 = response } }
    }
    // An event of a device, and an item of another place, are not for it.
    try terminal.log.append(NewEvent(type: "scan"))
    terminal.sync()
    try server.publish(#","place":"gate""#, item: "elsewhere")
    #expect(found.withLock { $0 } == nil)
    try server.publish(item: "here")
    #expect(try server.wait { found.withLock { $0 } != nil })
    let page = try #require(found.withLock { $0 }).object()
    #expect(try page.array("changes").count == 1)
    #expect(try page.number("through", in: 0...99) == 3 && page.number("last", in: 0...99) == 3)
  }
}

extension Terminal {
  /// Of the changes that came, in the order in which they are kept; without those of snapshots.
  func changeNumbers() throws -> [UInt64] {
    try received.events(in: received.first..<received.size).filter { $0.type == ReceivedLog.changeType }.compactMap { event in
      try JSONValue(event.data).object("a change").optionalNumber("number", in: 1...UInt64.max)
    }
  }
}
