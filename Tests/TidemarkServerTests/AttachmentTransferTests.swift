import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication
import TidemarkServer
import TidemarkText

/// Files on their way from a device to a server, both as they are.
@Suite struct AttachmentTransferTests {
  typealias Fixture = AttachmentFixture

  /// The first takes three parts, the second two, the third one.
  private let files = [TestFile(500_000), TestFile(200_000, seed: 2), TestFile(1_000, seed: 3)]

  @Test func `three photos of an audit arrive, and then the event is complete on both sides`() throws {
    let fixture = try Fixture()
    let offset = try fixture.append(files)
    fixture.run(requests: 3)
    #expect(try fixture.awaited() == [offset: Set(files.map(\.digest.hexadecimal))])
    #expect(fixture.status.state == .idle && fixture.status.trimmable <= offset)
    fixture.run()
    try fixture.expectComplete(files)
    #expect(fixture.status.trimmable == min(fixture.status.settled, fixture.status.accepted))
    let parts = fixture.requests.filter { $0.method == "PATCH" }.map(\.body.count)
    #expect(parts == [131_072, 262_144, 106_784, 200_000, 1_000])
    #expect(try fixture.store.removeAccepted() == 701_000)
    try fixture.reopen()
    fixture.run()
    try fixture.expectComplete(files)
    #expect(try fixture.store.counts().accepted == 3)
  }

  /// Parts of photos by hand, in every order, each as often as it takes; one photo is missing.
  @Test(arguments: 0..<3) func `with one missing it is incomplete, and names the missing one`(missing: Int) throws {
    let photos = (1...3).map { TestFile(40, seed: UInt64($0)) }
    let parts = (0..<3).filter { $0 != missing }.flatMap { photo in [0..<25, 25..<40].map { (photo: photo, range: $0) } }
    for order in permutations(Array(parts.indices)) {
      let fixture = try Fixture()
      let offset = try fixture.append(photos)
      // Only events: files come from elsewhere.
      fixture.conditions.conditions.isConstrained = true
      fixture.run(waits: 0)
      let sender = try TestDevice(fixture.server, seed: 7)
      var offsets = [0, 0, 0]
      func send(_ photo: Int, _ range: Range<Int>) throws {
        let begun = fixture.server.send(sender.request("POST", "/v1/attachments", photos[photo].offer.json))
        guard let upload = AttachmentAnswer(answer: begun)?.upload else { return #expect(begun.status == 200 && offsets[photo] == 40) }
        var request = sender.request(
          "PATCH", "/v1/uploads/\(upload.hexadecimal)", Array(photos[photo].bytes[range]), type: MediaType.partialUpload)
        request.fields["upload-offset"] = String(range.lowerBound)
        let response = fixture.server.send(request)
        #expect((response.status == 409) == (offsets[photo] != range.lowerBound))
        if response.status != 409 { offsets[photo] = range.upperBound }
        let left = photos.indices.filter { offsets[$0] != 40 }
        #expect(try fixture.awaited() == [offset: Set(left.map { photos[$0].digest.hexadecimal })])
      }
      // Twice in this order: a part that came too early comes again, one that came comes twice.
      for part in order + order + [parts.count - 1] { try send(parts[part].photo, parts[part].range) }
      #expect(offsets.filter { $0 == 40 }.count == 2)
      // The device learns of the two, and waits with trimming for the third.
      try fixture.disk.remove("/log/attachments/\(photos[missing].digest.hexadecimal)")
      fixture.conditions.conditions.isConstrained = false
      fixture.run(waits: 1)
      #expect(try fixture.store.unaccepted().map(\.attachment.digest.hexadecimal) == [photos[missing].digest.hexadecimal])
      #expect(try fixture.store.unaccepted().map(\.state) == [.missing])
      #expect(try fixture.store.trimmable(below: fixture.log.size) == offset)
      #expect(fixture.attachments.setAside == 1 && fixture.attachments.complete == offset)
      // Once it is here again, it goes by itself.
      _ = try fixture.store.put(photos[missing].bytes, mediaType: "image/jpeg", name: "found.jpg")
      try fixture.reopen()
      fixture.run()
      try fixture.expectComplete(photos)
    }
  }

  enum Trouble: CaseIterable {
    case requestLost, replyLost, portal, portal204, gateway, busy, damaged, wrongOffset, otherReceipt, deviceKilled, devicePowerCut
    case serverKilled, serverPowerCut, serverLost
  }

  @Test(arguments: Trouble.allCases) func `trouble with any one request delays, and no more`(trouble: Trouble) throws {
    let count = try clean(files)
    for number in 0..<count {
      let fixture = try Fixture()
      fixture.exchange = { [weak fixture] index, request, server in
        guard index == number, let fixture else { return server.send(request) }
        return Self.exchange(trouble, request, server, fixture)
      }
      try fixture.append(files)
      fixture.run(requests: number + 1)
      switch trouble {
      case .deviceKilled: try fixture.reopen { fixture.disk.processKill() }
      case .devicePowerCut: try fixture.reopen { fixture.disk.powerCycle(.losesEverything) }
      default: break
      }
      fixture.run()
      try fixture.expectComplete(files, "\(trouble) at \(number): \(fixture.attachments)")
      #expect(fixture.status.state == .idle, "\(trouble) at \(number)")
    }
  }

  private func clean(_ files: [TestFile]) throws -> Int {
    let fixture = try Fixture()
    try fixture.append(files)
    fixture.run()
    try fixture.expectComplete(files)
    return fixture.requests.count
  }

  private static func exchange(_ trouble: Trouble, _ request: HTTPRequest, _ server: TestServer, _ fixture: Fixture) -> HTTPResponse? {
    switch trouble {
    case .requestLost: return nil
    case .replyLost, .deviceKilled, .devicePowerCut:
      _ = server.send(request)
      return nil
    case .portal:
      var response = HTTPResponse(200, body: Array("<html>Sign in</html>".utf8))
      response.fields["content-type"] = "text/html"
      return response
    case .portal204: return HTTPResponse(204)
    case .gateway: return HTTPResponse(502)
    case .busy: return Problem(.storage, "later", retryAfter: 5).response
    case .damaged:
      var request = request
      if !request.body.isEmpty { request.body[request.body.count / 2] ^= 1 }
      return server.send(request)
    case .wrongOffset:
      var response = server.send(request)
      if response.fields["upload-offset"] != nil { response.fields["upload-offset"] = "77" }
      return response
    case .otherReceipt:
      var response = server.send(request)
      if var answer = AttachmentAnswer(answer: response), answer.isComplete {
        answer.state = .complete(signature: [UInt8](repeating: 1, count: 64))
        response.body = answer.json
      }
      return response
    case .serverKilled, .serverPowerCut:
      server.disk.plan = FaultPlan(.cut(writing: 1_000), at: server.disk.callCount + request.body.count % 11)
      let response = server.send(request)
      try? server.reopen { trouble == .serverKilled ? server.disk.processKill() : server.disk.powerCycle(.losesEverything) }
      return response.status >= 500 ? nil : response
    case .serverLost:
      // Everything about uploads is gone: unfinished files, and finished ones.
      let folder = "/server/attachments/acme"
      try? server.reopen {
        for name in (try? server.disk.list(folder)) ?? [] where !name.isEmpty {
          // What was signed for stays; that it may be lost is what archives are for.
          if name.contains(".") { try server.disk.remove("\(folder)/\(name)") }
        }
      }
      return server.send(request)
    }
  }

  @Test func `files pause between parts while events wait, and wait for a better network`() throws {
    let fixture = try Fixture()
    try fixture.append(files)
    fixture.conditions.conditions.isConstrained = true
    fixture.run(waits: 0)
    #expect(fixture.status.state == .idle && fixture.attachments.state == .waitingForNetwork)
    #expect(!fixture.requests.contains { $0.target.hasPrefix("/v1/attachments") })
    fixture.conditions.conditions.isConstrained = false
    var kinds: [String] = []
    for _ in 0..<4 {
      let before = fixture.requests.count
      fixture.run(requests: 1)
      kinds += fixture.requests[before...].map { $0.method }
      try fixture.log.append(NewEvent(type: "urgent"))
    }
    // A shipment stands between an offer and its parts.
    #expect(kinds == ["POST", "POST", "POST", "POST"] && fixture.requests.filter { $0.target.hasSuffix("/frames") }.count == 4)
    fixture.run()
    try fixture.expectComplete(files)
  }

  @Test func `two devices send the same files at the same time`() throws {
    let server = try TestServer()
    let devices = [try Fixture(server), try Fixture(server, seed: 2)]
    for device in devices { try device.append(files) }
    for step in 0..<200 { devices[step % 2].run(requests: 1, waits: 2) }
    for device in devices {
      device.run()
      try device.expectComplete(files)
    }
    #expect(try server.disk.list("/server/attachments/acme").sorted() == files.map(\.digest.hexadecimal).sorted())
    // What is here need not be sent again.
    let third = try Fixture(server, seed: 3)
    try third.append(files)
    third.run()
    try third.expectComplete(files)
    #expect(!third.requests.contains { $0.method == "PATCH" })
  }

  @Test func `a device that was removed keeps its files`() throws {
    let fixture = try Fixture()
    try fixture.append(files)
    fixture.run(requests: 5)
    _ = try fixture.server.admin("POST", "devices/\(fixture.grant.device.hexadecimal)/revoke")
    fixture.run()
    #expect([.removed, .waitingForSignIn].contains(fixture.attachments.state))
    #expect(try fixture.store.counts().pending == 3 && fixture.store.removeAccepted() == 0)
  }

  @Test func `a file that was damaged here is set aside, and others go`() throws {
    let fixture = try Fixture()
    try fixture.append(files)
    let path = "/log/attachments/\(files[0].digest.hexadecimal)"
    var bytes = files[0].bytes
    bytes[400_000] ^= 1
    try fixture.disk.replace(path, with: bytes)
    fixture.run()
    #expect(try fixture.store.unaccepted().map(\.attachment.digest) == [files[0].digest.bytes])
    #expect(fixture.attachments.setAside == 1 && fixture.attachments.trouble?.category == .permanent)
    #expect(fixture.attachments.state == .idle && fixture.status.state == .idle)
    #expect(try fixture.server.disk.list("/server/attachments/acme").count == 2)
    _ = try fixture.store.put(files[0].bytes, mediaType: "image/jpeg", name: "again.jpg")
    try fixture.reopen()
    fixture.run()
    try fixture.expectComplete(files)
  }

  @Test func `a server of another generation is offered again what is still here`() throws {
    let fixture = try Fixture()
    try fixture.append(files)
    fixture.run()
    try fixture.expectComplete(files)
    // One has been removed here after its receipt; the server loses that one, and another.
    try fixture.disk.remove("/log/attachments/\(files[2].digest.hexadecimal)")
    let before = fixture.requests.count
    try fixture.reopen()
    fixture.run()
    #expect(!fixture.requests[before...].contains { $0.target == "/v1/attachments" })
    try fixture.server.reopen {
      for file in files[1...] { try fixture.server.disk.remove("/server/attachments/acme/\(file.digest.hexadecimal)") }
      try fixture.server.disk.remove("/server/generation")
    }
    for cut in 0..<8 {
      try fixture.reopen()
      fixture.run(requests: cut)
    }
    try fixture.reopen()
    fixture.run()
    for file in files[..<2] {
      #expect(try fixture.server.disk.contents("/server/attachments/acme/\(file.digest.hexadecimal)") == file.bytes)
    }
    #expect(fixture.attachments.state == .idle)
    let count = fixture.requests.count
    try fixture.reopen()
    fixture.run()
    #expect(!fixture.requests[count...].contains { $0.target == "/v1/attachments" })
  }

  @Test func `a file before its event`() throws {
    let fixture = try Fixture()
    let offset = try fixture.append(files)
    // Another device has sent two of them before.
    let sender = try TestDevice(fixture.server, seed: 7)
    for file in files[1...] {
      let begun = fixture.server.send(sender.request("POST", "/v1/attachments", file.offer.json))
      let location = try #require(begun.fields["location"])
      var request = sender.request("PATCH", location, file.bytes, type: MediaType.partialUpload)
      request.fields["upload-offset"] = "0"
      #expect(fixture.server.send(request).status == 200)
    }
    #expect(try fixture.awaited().isEmpty)
    fixture.run(requests: 3)
    #expect(try fixture.awaited() == [offset: [files[0].digest.hexadecimal]])
    fixture.run()
    try fixture.expectComplete(files)
    #expect(fixture.requests.filter { $0.method == "PATCH" }.map(\.body.count).reduce(0, +) == 500_000)
  }

  enum End: CaseIterable { case device, server }

  /// Power cuts at each call of the disk that changes something, on either end, while a small set is on its way.
  @Test(arguments: End.allCases) func `power cuts at each call`(end: End) throws {
    let small = [TestFile(1_500, seed: 4), TestFile(700, seed: 5)]
    var call = 0
    var isDone = false
    while !isDone {
      let fixture = try Fixture()
      try fixture.append(small)
      fixture.run(requests: 3)
      let disk = end == .device ? fixture.disk : fixture.server.disk
      disk.plan = FaultPlan(.cut(writing: call * 13), at: disk.callCount + call)
      fixture.run(waits: 0)
      isDone = disk.faultCount == 0
      disk.plan = FaultPlan()
      switch end {
      case .device: try fixture.reopen { disk.powerCycle(.losesEverything) }
      case .server: try fixture.server.reopen { disk.powerCycle(.losesEverything) }
      }
      fixture.run()
      try fixture.expectComplete(small, "call \(call): \(fixture.attachments)")
      call += 1
    }
    #expect(call > 20)
  }
}
