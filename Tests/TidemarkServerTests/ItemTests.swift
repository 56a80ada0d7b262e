import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer
import TidemarkText

@Suite struct ItemTests {
  private func publish(_ server: TestServer, _ version: Int, _ more: String = "", item: String = "notice") throws {
    _ = try server.admin(
      "POST", "items", #"{"tenant":"acme","item":"\#(item)","version":\#(version),"content":"version \#(version)"\#(more)}"#)
  }

  private func changes(_ device: TestDevice, since: UInt64 = 0) throws -> [String] {
    let page = try device.server.send(device.request("GET", "/v1/changes?since=\(since)")).object()
    return try page.array("changes").map { value in
      let change = try value.object("a change")
      let text = { (name: String) in (try? change.string(name)) ?? (try? change.number(name, in: 0...99)).map(String.init) ?? "-" }
      return "\(text("kind")) \(text("item")) \(text("version")) \(text("state")) \(text("status")) \(text("acknowledged"))"
    }
  }

  private func say(_ device: TestDevice, _ type: String, _ data: String, actor: String = "ann") throws {
    try device.log.append(NewEvent(type: "tidemark.\(type)", actor: actor, data: Array(data.utf8)))
  }

  @Test func `versions rise by one, and the same again is no other`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try publish(server, 1)
    try publish(server, 1)
    #expect(problem { try publish(server, 3) } == .refused)
    #expect(problem { try publish(server, 1, #","place":"gate""#) } == .refused)
    try publish(server, 2)
    _ = try server.admin("DELETE", "items/notice?tenant=acme")
    _ = try server.admin("DELETE", "items/notice?tenant=acme")
    try publish(server, 4)
    #expect(try changes(device) == ["item notice 1 - - 0", "item notice 2 - - 0", "tombstone notice 3 - - -", "item notice 4 - - 0"])
    #expect(problem { _ = try server.admin("DELETE", "items/other?tenant=acme") } == .notFound)
    #expect(problem { _ = try server.admin("DELETE", "items/notice?tenant=other") } == .notFound)
  }

  @Test func `what is released says what it says about items, and rows that are made again come out the same`() throws {
    let server = try TestServer { $0.limits.eventBytes = 200 }
    let device = try TestDevice(server)
    try publish(server, 1, #","due":"2033-01-01T00:00:00Z","required":1,"state":"open""#)
    let blanks = String(repeating: " ", count: 200)
    try say(device, "acknowledgement", #"{"item":"notice","version":1}"# + blanks)
    try say(device, "transition", #"{"item":"notice","from":"open","to":"closed"}"# + blanks)
    try say(device, "transition", #"{"item":"notice","from":"open","to":"void"}"# + blanks)
    #expect(try device.shipRest().outcomes.count == 3)
    #expect(try changes(device) == ["item notice 1 open open 0"])
    for number in 1...2 { _ = try server.admin("POST", "quarantine/acme/\(number)/release", "") }
    #expect(
      try changes(device) == ["item notice 1 open open 0", "status notice - - met 1", "state notice - closed - -"])
    _ = try server.admin("POST", "quarantine/acme/3/release", "")
    #expect(try changes(device).last == "refused notice - closed - -")
    let rows = try server.rows()
    try server.reopen { server.folder.remove("derived.sqlite") }
    #expect(try server.rows() == rows)
  }

  @Test func `an acknowledgement counts for its version, until a material one follows`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    let due = #","due":"2033-01-01T00:00:00Z","required":2"#
    try publish(server, 1, due)
    try say(device, "acknowledgement", #"{"item":"notice","version":1}"#)
    try say(device, "acknowledgement", #"{"item":"notice","version":1}"#)
    try say(device, "acknowledgement", #"{"item":"notice","version":9}"#, actor: "bob")
    try device.shipRest()
    try publish(server, 2, due + #","material":false"#)
    try say(device, "acknowledgement", #"{"item":"notice","version":1}"#, actor: "bob")
    try device.shipRest()
    try publish(server, 3, due)
    try say(device, "acknowledgement", #"{"item":"notice","version":2}"#, actor: "eve")
    try device.shipRest()
    _ = try server.admin("POST", "items/notice/waive?tenant=acme", "")
    #expect(
      try changes(device) == [
        "item notice 1 - open 0", "status notice - - open 1", "item notice 2 - open 1", "status notice - - met 2", "item notice 3 - open 0",
        "status notice - - waived 0",
      ])
    let numbers = try server.changes().map(\.number)
    #expect(numbers == [2, 3, 4, 7, 10])
    let snapshot = String(decoding: server.send(device.request("GET", "/v1/changes/snapshot")).body, as: UTF8.self)
    #expect(snapshot.contains(#""through":11"#) && snapshot.contains(#""version":3"#) && snapshot.contains("waived"))
    let rows = try server.rows()
    try server.reopen { server.folder.remove("derived.sqlite") }
    #expect(try server.rows() == rows)
  }

  @Test func `a change of state counts if the state is still the one that it names`() throws {
    let server = try TestServer()
    let (device, other) = (try TestDevice(server, seed: 1), try TestDevice(server, seed: 2))
    try publish(server, 1, #","state":"open""#)
    for device in [device, other] { try say(device, "transition", #"{"item":"notice","from":"open","to":"closed"}"#) }
    try device.shipRest()
    try other.shipRest()
    #expect(try changes(device) == ["item notice 1 open - 0", "state notice - closed - -"])
    #expect(try changes(other) == ["item notice 1 open - 0", "state notice - closed - -", "refused notice - closed - -"])
    #expect(try server.changes().count == 2)
    let rows = try server.rows()
    try server.reopen { server.folder.remove("derived.sqlite") }
    #expect(try server.rows() == rows)
  }

  @Test func `time changes a status, and that is written`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    // The clock stands at 2023-11-14T22:13:20Z: due in a hundred seconds.
    try publish(server, 1, #","due":"2023-11-14T22:15:00Z","required":1"#)
    server.clock.setWallClock(byNanoseconds: 80_000_000_000)
    try device.append(1)
    try device.shipRest()
    #expect(try server.wait { try changes(device).last == "status notice - - at-risk 0" })
    server.clock.setWallClock(byNanoseconds: 30_000_000_000)
    try device.append(1)
    try device.shipRest()
    #expect(try server.wait { try changes(device).last == "status notice - - missed 0" })
    let rows = try server.rows()
    try server.reopen { server.folder.remove("derived.sqlite") }
    #expect(try server.rows() == rows)
  }

  @Test func `a device sees what is for its place and person`() throws {
    let server = try TestServer()
    let code = try server.admin("POST", "codes", #"{"tenant":"acme","place":"gate","person":"ann"}"#).string("code")
    let device = try TestDevice(server)
    let keys = try KeyDirectory(at: "/more", SimulatedDisk())
    let scoped = try TestDevice.enrol(code, keys.makeKey(), server)
    for (item, scope) in [
      ("all", ""), ("gate", #","place":"gate""#), ("yard", #","place":"yard""#), ("ann", #","person":"ann""#),
      ("both", #","place":"gate","person":"ann""#), ("bob", #","place":"gate","person":"bob""#),
    ] {
      try publish(server, 1, scope, item: item)
    }
    #expect(try changes(device).map { $0.split(separator: " ")[1] } == ["all"])
    device.tokens = try TestDevice.tokens(scoped.refreshToken, server)
    #expect(try changes(device).map { $0.split(separator: " ")[1] } == ["all", "gate", "ann", "both"])
    try publish(server, 2, #","place":"yard""#, item: "gate")
    #expect(try changes(device).last == "tombstone gate 2 - - -")
    try publish(server, 3, item: "gate")
    #expect(try changes(device).last == "item gate 3 - - 0")
    let snapshot = try server.send(device.request("GET", "/v1/changes/snapshot")).object()
    #expect(try snapshot.array("items").count == 4)
  }

  @Test func `an office publishes for its tenant only`() throws {
    let server = try TestServer()
    _ = try server.admin("POST", "tenants", #"{"tenant":"other"}"#)
    let device = try TestDevice(server)
    let token = try server.admin("POST", "tokens", #"{"tenant":"other"}"#).string("token")
    var request = HTTPRequest("POST", "/v1/admin/items", body: Array(#"{"tenant":"acme","item":"a","version":1,"content":"b"}"#.utf8))
    request.fields["authorization"] = "Bearer \(token)"
    request.fields["content-type"] = MediaType.json
    #expect(server.send(request).status == 201)
    #expect(try changes(device).isEmpty)
    request.target = "/v1/admin/devices"
    request.method = "GET"
    #expect(Problem(server.send(request))?.code == .notPermitted)
  }
}
