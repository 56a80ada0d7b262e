import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer
import TidemarkText

@Suite struct AccessTests {
  @Test func `without a credential every call says the same`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(3)
    try device.shipRest()
    let ship = device.shipping(try device.shipment())
    let targets = [
      "/v1/changes", "/v1/changes/stream", "/v1/status", "/v1/admin/devices", "/v1/nothing", "/", device.path,
      device.path + "/frames?from=0",
      device.path + "/root", "/v1/logs/x/epochs/y",
    ]
    let requests = targets.flatMap { target in ["GET", "PUT", "POST"].map { device.request($0, target) } } + [ship]
    var answers: Set<[UInt8]> = []
    for request in requests {
      for token in [nil, "", "Bearer", "Bearer x", "Bearer \(device.enrolled.refreshToken)", "Basic \(device.tokens.accessToken)"] {
        var request = request
        request.fields["authorization"] = token
        let response = server.send(request)
        #expect(response.status == 401)
        #expect(server.server.refusal(of: request, byteCount: 1 << 40) == response)
        answers.insert(response.body)
      }
    }
    #expect(answers.count == 1)
  }

  @Test func `another device's log is as one that is not there`() throws {
    let server = try TestServer()
    _ = try server.admin("POST", "tenants", #"{"tenant":"other"}"#)
    let owner = try TestDevice(server, seed: 1)
    try owner.append(3)
    try owner.shipRest()
    let shipment = try owner.shipment()
    for stranger in [try TestDevice(server, seed: 2), try TestDevice(server, seed: 3, tenant: "other")] {
      let unknown = owner.path.replacing(owner.log.identity.logID.hexadecimal, with: EventID(high: 1, low: 2).hexadecimal)
      for suffix in ["/frames?from=0", "/root?size=1"] {
        #expect(server.send(stranger.request("GET", owner.path + suffix)) == server.send(stranger.request("GET", unknown + suffix)))
      }
      var request = owner.shipping(shipment)
      request.fields["authorization"] = "Bearer \(stranger.tokens.accessToken)"
      #expect(Problem(server.send(request))?.code == .notFound)
      #expect(problem { let _: HandshakeAnswer = try stranger.call("PUT", owner.path, try owner.handshake().json) } == .notFound)
      #expect(problem { let _: HandshakeAnswer = try stranger.call("GET", "/v1/admin/devices") } == .notPermitted)
    }
  }

  @Test func `a device that was removed ships nothing more, and is told so`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(3)
    try device.shakeHands()
    let id = device.enrolled.device.hexadecimal
    _ = try server.admin("POST", "devices/\(id)/suspend", "")
    #expect(problem { try device.ship(try device.shipment()) } == .suspended)
    #expect(problem { try device.refresh() } == .suspended)
    _ = try server.admin("POST", "devices/\(id)/resume", "")
    try device.ship(try device.shipment())
    _ = try server.admin("POST", "devices/\(id)/revoke", "")
    #expect(problem { try device.ship(try device.shipment()) } == .revoked)
    #expect(problem { try device.refresh() } == .revoked)
    #expect(problem { _ = try server.admin("POST", "devices/\(id)/resume", "") } == .refused)
    #expect(try server.changes().count == 3)
  }

  @Test func `revoking acts on what was verified and not yet written`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(3)
    try device.shakeHands()
    let request = device.shipping(try device.shipment())
    let (inner, id) = (server.server, device.enrolled.device)
    let answer = Locked<HTTPResponse?>(nil)
    let isDone = Locked(false)
    // While the committer writes for another device, this one's shipment is verified and waits; then the device is revoked.
    server.disk.beforeChange = { _, _ in
      let isFirst = isDone.withLock { isDone in
        defer { isDone = true }
        return !isDone
      }
      guard isFirst else { return }
      inner.handle(request) { reply in if case .answer(let response) = reply { answer.withLock { $0 = response } } }
      #expect(answer.withLock { $0 } == nil)
      _ = try? inner.accounts.setState(.revoked, of: id)
    }
    let other = try TestDevice(server, seed: 2)
    try other.append(1)
    try other.shipRest()
    #expect(try server.wait { answer.withLock { $0 } != nil })
    #expect(answer.withLock { $0 }.flatMap(Problem.init)?.code == .revoked)
    #expect(try server.changes().count == 1)
  }

  @Test func `the operator's token is not readable by others, and an office reads its tenant only`() throws {
    let server = try TestServer()
    #expect(try server.disk.status("/server/operator-token")?.isPrivate ?? false)
    _ = try server.admin("POST", "tenants", #"{"tenant":"other"}"#)
    let device = try TestDevice(server)
    try device.append(3)
    try device.shipRest()
    for (tenant, count) in [("acme", 3), ("other", 0)] {
      let token = try server.admin("POST", "tokens", #"{"tenant":"\#(tenant)"}"#).string("token")
      var request = HTTPRequest("GET", "/v1/changes?since=0&tenant=acme")
      request.fields["authorization"] = "Bearer \(token)"
      let page = try server.send(request).object()
      #expect(try page.array("changes").count == count)
      _ = try server.admin("DELETE", "tokens/office?tenant=\(tenant)")
      #expect(server.send(request).status == 401)
    }
    let own = try server.send(device.request("GET", "/v1/changes?since=0")).object()
    #expect(try own.array("changes").isEmpty && own.number("through", in: 3...3) == 3)
  }

  @Test func `too many requests, and too long ones, are refused before their body`() throws {
    let server = try TestServer { $0.limits.rate = 3 }
    let device = try TestDevice(server)
    let head = device.request("POST", device.path + "/frames")
    #expect(server.server.refusal(of: head, byteCount: nil)?.status == 411)
    #expect(server.server.refusal(of: head, byteCount: server.options.limits.requestBytes + 1)?.status == 413)
    #expect(server.server.refusal(of: head, byteCount: server.options.limits.requestBytes) == nil)
    #expect(server.server.refusal(of: device.request("PUT", device.path), byteCount: 1 << 17)?.status == 413)
    let answers = (0..<8).map { _ in server.send(device.request("GET", "/v1/status")).status }
    #expect(answers.prefix(6).allSatisfy { $0 == 200 } && answers.last == 429)
    #expect(server.server.refusal(of: head, byteCount: 1)?.status == 429)
    #expect(server.send(device.request("GET", "/v1/status")).fields["retry-after"] == "1")
  }

  @Test func `a request for news is held until there is some`() async throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(3)
    try device.shakeHands()
    var request = device.request("GET", "/v1/changes?since=0")
    request.fields["prefer"] = "wait=50"
    let answered = Locked<HTTPResponse?>(nil)
    server.server.handle(request) { reply in if case .answer(let response) = reply { answered.withLock { $0 = response } } }
    #expect(answered.withLock { $0 } == nil)
    // That is not for devices, the next is.
    try device.ship(try device.shipment())
    try server.publish()
    for _ in 0..<1_000 where answered.withLock({ $0 == nil }) { try await Task.sleep(nanoseconds: 1_000_000) }
    let page = try #require(answered.withLock { $0 }).object()
    #expect(try page.number("through", in: 0...9) == 4 && page.array("changes").count == 1)
  }
}

@Suite struct StreamTests {
  @Test func `a stream tells the last number, and ends with the credential`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    let found = Locked<(@Sendable (UInt64) -> (text: String, number: UInt64)?)?>(nil)
    server.server.handle(device.request("GET", "/v1/changes/stream")) { reply in
      if case .stream(_, _, let next) = reply { found.withLock { $0 = next } }
    }
    let next = try #require(found.withLock { $0 })
    #expect(next(0)?.text == "")
    try device.append(3)
    try device.shipRest()
    #expect(next(0)?.text == "event: through\ndata: 3\nid: 3\n\n" && next(0)?.number == 3 && next(3)?.text == "")
    _ = try server.admin("POST", "devices/\(device.enrolled.device.hexadecimal)/suspend", "")
    #expect(next(0) == nil)
  }
}

@Suite struct TokenTests {
  @Test func `a refresh token serves again until its successor was used, then it ends both`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    let first = device.tokens
    // The answer was lost: again.
    let second = try TestDevice.tokens(first.refreshToken, server)
    let third = try TestDevice.tokens(first.refreshToken, server)
    #expect(Set([second.refreshToken, third.refreshToken, first.refreshToken]).count == 3)
    let fourth = try TestDevice.tokens(third.refreshToken, server)
    // The successor was used: who shows the old one, or the answer that was lost, has a copy.
    #expect(problem { _ = try TestDevice.tokens(first.refreshToken, server) } == .refreshRefused)
    #expect(problem { _ = try TestDevice.tokens(fourth.refreshToken, server) } == .refreshRefused)
    device.tokens = fourth
    #expect(server.send(device.request("GET", "/v1/status")).status == 401)
  }

  @Test func `the answer that was lost does not serve after another one was used`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    let lost = try TestDevice.tokens(device.tokens.refreshToken, server)
    let got = try TestDevice.tokens(device.tokens.refreshToken, server)
    _ = try TestDevice.tokens(got.refreshToken, server)
    #expect(problem { _ = try TestDevice.tokens(lost.refreshToken, server) } == .refreshRefused)
  }

  @Test func `an access token ends after a quarter of an hour`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    #expect(server.send(device.request("GET", "/v1/status")).status == 200)
    server.clock.setWallClock(byNanoseconds: 899_000_000_000)
    #expect(server.send(device.request("GET", "/v1/status")).status == 200)
    server.clock.setWallClock(byNanoseconds: 2_000_000_000)
    #expect(server.send(device.request("GET", "/v1/status")).status == 401)
    try device.refresh()
    #expect(server.send(device.request("GET", "/v1/status")).status == 200)
  }

  @Test func `a code is for one device, and serves again as long as no token of it was used`() throws {
    let server = try TestServer()
    let keys = try KeyDirectory(at: "/codes", SimulatedDisk())
    let (one, other) = (try keys.makeKey(), try keys.makeKey())
    let code = try server.code()
    let first = try TestDevice.enrol(code, one, server)
    let second = try TestDevice.enrol(code.lowercased().replacing("-", with: ""), one, server)
    #expect(first.device == second.device && first.refreshToken != second.refreshToken)
    #expect(problem { _ = try TestDevice.enrol(code, other, server) } == .refreshRefused)
    _ = try TestDevice.tokens(second.refreshToken, server)
    #expect(problem { _ = try TestDevice.enrol(code, one, server) } == .refreshRefused)
    #expect(problem { _ = try TestDevice.enrol("K7QF-2M9X-AAAA-AAAA", one, server) } == .refreshRefused)
    let expired = try server.code()
    server.clock.setWallClock(byNanoseconds: 86_401_000_000_000)
    #expect(problem { _ = try TestDevice.enrol(expired, other, server) } == .refreshRefused)
  }

  @Test func `who signs in again with a new code and the same key is the same device`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    let code = try server.code()
    #expect(problem { _ = try TestDevice.enrol(code, device.key, server) } == .refused)
    let other = try TestDevice(server, seed: 2)
    let forged = try other.keys.sign(Enrolment.signatureMessage(of: code), publicKey: other.key)
    #expect(problem { _ = try TestDevice.enrol(code, device.key, server, signature: forged) } == .refused)
    let signature = try device.keys.sign(Enrolment.signatureMessage(of: code), publicKey: device.key)
    let again = try TestDevice.enrol(code, device.key, server, signature: signature)
    #expect(again.device == device.enrolled.device)
    device.tokens = try TestDevice.tokens(again.refreshToken, server)
    try device.append(1)
    try device.shipRest()
  }

  @Test func `secrets are nowhere in the database`() throws {
    let server = try TestServer()
    let code = try server.code()
    let device = try TestDevice(server)
    let office = try server.admin("POST", "tokens", #"{"tenant":"acme"}"#).string("token")
    let bytes = try ["accounts.sqlite", "accounts.sqlite-wal"].flatMap { try server.folder.contents($0) }
    #expect(bytes.count > 1_000)
    for secret in [
      code, code.replacing("-", with: ""), device.tokens.accessToken, device.tokens.refreshToken, office, server.operatorToken,
    ] {
      #expect(bytes.firstRange(of: Array(secret.dropFirst(4).utf8)) == nil)
    }
  }
}
