import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer
import TidemarkText

/// Uploads as requests: of the IETF's draft and of tus 1.0, and who may send them.
@Suite struct UploadRouteTests {
  private let server: TestServer
  private let device: TestDevice

  init() throws {
    server = try TestServer {
      $0.uploads.byteCount = 100_000
      $0.uploads.openPerDevice = 4
    }
    device = try TestDevice(server)
  }

  private func offer(_ file: TestFile, _ device: TestDevice? = nil) -> HTTPResponse {
    server.send((device ?? self.device).request("POST", "/v1/attachments", file.offer.json))
  }

  private func part(_ file: TestFile, _ location: String, _ range: Range<Int>, isTus: Bool, _ device: TestDevice? = nil) -> HTTPRequest {
    let type = isTus ? MediaType.tusUpload : MediaType.partialUpload
    var request = (device ?? self.device).request("PATCH", location, Array(file.bytes[range]), type: type)
    request.fields["upload-offset"] = String(range.lowerBound)
    if isTus {
      request.fields["tus-resumable"] = "1.0.0"
    } else {
      request.fields["upload-complete"] = range.upperBound == file.bytes.count ? "?1" : "?0"
    }
    return request
  }

  private func tus(_ method: String, _ target: String) -> HTTPRequest {
    var request = device.request(method, target)
    request.fields["tus-resumable"] = "1.0.0"
    return request
  }

  private func create(_ file: TestFile) -> HTTPResponse {
    var request = tus("POST", "/v1/attachments")
    request.fields["upload-length"] = String(file.bytes.count)
    var digest: [UInt8] = []
    Base64.encode(Array(file.digest.hexadecimal.utf8).span, to: &digest)
    request.fields["upload-metadata"] = "filename Z2F0ZQ==, digest \(String(decoding: digest, as: UTF8.self))"
    return server.send(request)
  }

  private func head(_ location: String) -> HTTPResponse { server.send(device.request("HEAD", location)) }

  // MARK: The IETF's draft

  @Test func `a file comes by the IETF's draft`() throws {
    let file = TestFile(1_000)
    let begun = offer(file)
    let location = try #require(begun.fields["location"])
    #expect(begun.status == 201 && AttachmentAnswer(answer: begun)?.offset == 0)
    #expect(begun.fields["upload-limit"] == "max-size=100000, max-append-size=8388608, max-age=604800")
    let first = server.send(part(file, location, 0..<600, isTus: false))
    #expect(first.status == 204 && first.fields["upload-offset"] == "600" && first.fields["upload-complete"] == "?0")
    let standing = head(location)
    #expect(standing.status == 204 && standing.body.isEmpty && standing.fields["cache-control"] == "no-store")
    #expect(standing.fields["upload-offset"] == "600" && standing.fields["upload-length"] == "1000")
    #expect(standing.fields["upload-complete"] == "?0")
    let again = server.send(part(file, location, 0..<600, isTus: false))
    #expect(again.status == 409 && again.fields["upload-offset"] == "600" && again.fields["upload-complete"] == "?0")
    let problem = try JSONValue(again.body).object("the problem")
    #expect(try problem.string("type") == "https://iana.org/assignments/http-problem-types#mismatching-upload-offset")
    #expect(try problem.number("expected-offset", in: 0...9_999) == 600 && problem.number("provided-offset", in: 0...9_999) == 0)
    #expect(Problem(again)?.offsets?.expected == 600)
    var early = part(file, location, 600..<700, isTus: false)
    early.fields["upload-complete"] = "?1"
    #expect(Problem(server.send(early))?.code == .inconsistentLength)
    let last = server.send(part(file, location, 600..<1_000, isTus: false))
    #expect(last.status == 200 && last.fields["upload-complete"] == "?1")
    let receipt = try #require(AttachmentAnswer(answer: last))
    #expect(receipt.isReceipt(by: device.enrolled.serverKey, tenant: "acme"))
    #expect(!receipt.isReceipt(by: device.enrolled.serverKey, tenant: "other"))
    #expect(head(location).fields["upload-complete"] == "?1")
    let repeated = offer(file)
    #expect(repeated.status == 200 && AttachmentAnswer(answer: repeated) == receipt)
    let shown = server.send(device.request("GET", "/v1/attachments/\(file.digest.hexadecimal)"))
    #expect(AttachmentAnswer(answer: shown) == receipt)
  }

  @Test func `a last part that is another file's begins anew`() throws {
    let (file, other) = (TestFile(100), TestFile(100, seed: 2))
    let location = try #require(offer(file).fields["location"])
    _ = server.send(part(file, location, 0..<50, isTus: false))
    #expect(Problem(server.send(part(other, location, 50..<100, isTus: false)))?.code == .digestMismatch)
    #expect(head(location).status == 404)
    #expect(AttachmentAnswer(answer: offer(file))?.offset == 0)
    #expect(server.send(device.request("GET", "/v1/attachments/\(other.digest.hexadecimal)")).status == 404)
  }

  @Test func `a part that was damaged on its way is refused, and the rest stays`() throws {
    let file = TestFile(100)
    let location = try #require(offer(file).fields["location"])
    _ = server.send(part(file, location, 0..<50, isTus: false))
    var damaged = part(file, location, 50..<100, isTus: false)
    damaged.fields[ContentDigestField.name] = ContentDigestField.value(of: damaged.body)
    damaged.body[7] ^= 1
    #expect(Problem(server.send(damaged))?.code == .digestMismatch)
    #expect(head(location).fields["upload-offset"] == "50")
    #expect(server.send(part(file, location, 50..<100, isTus: false)).status == 200)
  }

  // MARK: tus

  @Test func `a file comes by tus`() throws {
    let file = TestFile(1_000)
    let options = server.send(device.request("OPTIONS", "/v1/attachments"))
    #expect(options.status == 204 && options.fields["tus-version"] == "1.0.0" && options.fields["tus-extension"] == "creation")
    #expect(options.fields["tus-max-size"] == "100000" && options.fields["upload-limit"] != nil)
    let created = create(file)
    let location = try #require(created.fields["location"])
    #expect(created.status == 201 && created.fields["tus-resumable"] == "1.0.0" && created.body.isEmpty)
    let first = server.send(part(file, location, 0..<400, isTus: true))
    #expect(first.status == 204 && first.fields["upload-offset"] == "400" && first.fields["tus-resumable"] == "1.0.0")
    let standing = server.send(tus("HEAD", location))
    #expect(standing.fields["upload-offset"] == "400" && standing.fields["upload-length"] == "1000")
    #expect(standing.fields["tus-resumable"] == "1.0.0" && standing.fields["cache-control"] == "no-store")
    let again = server.send(part(file, location, 0..<400, isTus: true))
    #expect(again.status == 409 && again.fields["tus-resumable"] == "1.0.0")
    let last = server.send(part(file, location, 400..<1_000, isTus: true))
    #expect(last.status == 204 && last.fields["upload-offset"] == "1000" && last.body.isEmpty)
    // Created again, it is there at once: tus has no other word for that.
    let repeated = create(file)
    #expect(repeated.status == 201 && repeated.fields["upload-offset"] == "1000")
    #expect(server.send(tus("HEAD", try #require(repeated.fields["location"]))).fields["upload-offset"] == "1000")
    try server.reopen()
    #expect(create(file).fields["upload-offset"] == "1000")
  }

  @Test func `tus of another version, and without what is needed`() throws {
    let file = TestFile(10)
    var request = tus("POST", "/v1/attachments")
    request.fields["tus-resumable"] = "0.2.2"
    let refused = server.send(request)
    #expect(refused.status == 412 && refused.fields["tus-version"] == "1.0.0")
    #expect(server.send(tus("POST", "/v1/attachments")).status == 400)
    let location = try #require(create(file).fields["location"])
    var wrongType = part(file, location, 0..<5, isTus: true)
    wrongType.fields["content-type"] = MediaType.json
    #expect(server.send(wrongType).status == 415)
    var withoutOffset = part(file, location, 0..<5, isTus: true)
    for value in [nil, "-1", "x", "99999999999999999999"] {
      withoutOffset.fields["upload-offset"] = value
      #expect(server.send(withoutOffset).status == 400)
    }
  }

  @Test func `clients of both kinds mix on one upload`() throws {
    for seed: UInt64 in 1...20 {
      let file = TestFile(300, seed: seed)
      var random = SeededRandom(seed: seed)
      let locations = [try #require(create(file).fields["location"]), try #require(offer(file).fields["location"])]
      #expect(locations[0] == locations[1])
      var offset = 0
      while offset < 300 {
        let end = min(300, offset + random.number(in: 1...80))
        let isTus = random.isOneIn(2)
        let response = server.send(part(file, locations[0], offset..<end, isTus: isTus))
        #expect(response.status == (end == 300 && !isTus ? 200 : 204))
        let standing = server.send(random.isOneIn(2) ? tus("HEAD", locations[0]) : device.request("HEAD", locations[0]))
        #expect(standing.fields["upload-offset"] == String(end))
        offset = end
      }
      #expect(offer(file).status == 200)
    }
  }

  // MARK: Who may

  @Test func `without a credential nothing is told`() throws {
    let file = TestFile(10)
    let location = try #require(offer(file).fields["location"])
    _ = server.send(part(file, location, 0..<5, isTus: false))
    let targets = [
      ("POST", "/v1/attachments"), ("OPTIONS", "/v1/attachments"), ("GET", "/v1/attachments/\(file.digest.hexadecimal)"),
      ("HEAD", location), ("PATCH", location), ("HEAD", "/v1/uploads/none"),
    ]
    for (method, target) in targets {
      for token in [nil, "Bearer tma_0", "Bearer \(device.enrolled.refreshToken)"] {
        var request = part(file, target, 5..<10, isTus: false)
        request.method = method
        request.fields["authorization"] = token
        let response = server.send(request)
        #expect(response.status == 401 && response.fields["upload-offset"] == nil)
        #expect(server.server.refusal(of: request, byteCount: 5)?.status == 401)
      }
    }
    #expect(head(location).fields["upload-offset"] == "5")
    var operators = device.request("POST", "/v1/attachments", file.offer.json)
    operators.fields["authorization"] = "Bearer \(server.operatorToken)"
    #expect(Problem(server.send(operators))?.code == .notPermitted)
  }

  @Test func `another tenant can't tell what is here`() throws {
    _ = try server.admin("POST", "tenants", #"{"tenant":"other"}"#)
    let stranger = try TestDevice(server, seed: 2, tenant: "other")
    let (open, complete) = (TestFile(10), TestFile(10, seed: 2))
    let location = try #require(offer(open).fields["location"])
    let completed = try #require(offer(complete).fields["location"])
    _ = server.send(part(open, location, 0..<5, isTus: false))
    _ = server.send(part(complete, completed, 0..<10, isTus: false))
    for file in [open, complete] {
      #expect(server.send(stranger.request("GET", "/v1/attachments/\(file.digest.hexadecimal)")).status == 404)
    }
    let unknown = "/v1/uploads/\(EventID(high: 1, low: 1).hexadecimal)"
    for target in [location, completed] {
      for method in ["HEAD", "PATCH"] {
        var theirs = part(open, target, 5..<10, isTus: false, stranger)
        theirs.method = method
        var none = part(open, unknown, 5..<10, isTus: false, stranger)
        none.method = method
        #expect(server.send(theirs) == server.send(none))
      }
    }
    for file in [open, complete] {
      let begun = offer(file, stranger)
      #expect(begun.status == 201 && AttachmentAnswer(answer: begun)?.offset == 0)
      #expect(begun.fields["location"] != location && begun.fields["location"] != completed)
    }
    #expect(head(location).fields["upload-offset"] == "5")
  }

  @Test func `a removed device's next part is refused`() throws {
    let second = try TestDevice(server, seed: 2)
    let file = TestFile(30)
    let location = try #require(offer(file).fields["location"])
    #expect(server.send(part(file, location, 0..<10, isTus: false)).status == 204)
    _ = try server.admin("POST", "devices/\(device.enrolled.device.hexadecimal)/suspend")
    #expect(Problem(server.send(part(file, location, 10..<20, isTus: false)))?.code == .suspended)
    _ = try server.admin("POST", "devices/\(device.enrolled.device.hexadecimal)/resume")
    #expect(server.send(part(file, location, 10..<20, isTus: false)).status == 204)
    _ = try server.admin("POST", "devices/\(device.enrolled.device.hexadecimal)/revoke")
    #expect([.revoked, .unauthorized].contains(Problem(server.send(part(file, location, 20..<30, isTus: false)))?.code))
    // Another device of the tenant ends it.
    #expect(server.send(part(file, location, 20..<30, isTus: false, second)).status == 200)
  }

  @Test func `archives hold files, and tell which is damaged`() throws {
    let files = [TestFile(100), TestFile(3_000_000, seed: 2), TestFile(0)]
    for file in [files[0], files[2]] {
      let location = try #require(offer(file).fields["location"])
      #expect(server.send(part(file, location, 0..<file.bytes.count, isTus: false)).status == 200)
    }
    let path = "/server/attachments/acme/"
    let big = try server.disk.open(path + files[1].digest.hexadecimal, .create)
    let bytes = files[1].bytes
    try big.write(bytes.rawSpan, at: 0)
    let body = #"{"directory":"/archive"}"#
    _ = try server.admin("POST", "archive", body)
    for file in files { #expect(try server.disk.contents("/archive/acme/attachments/\(file.digest.hexadecimal)") == file.bytes) }
    let unfinished = try #require(offer(TestFile(50, seed: 9)).fields["location"])
    _ = server.send(part(TestFile(50, seed: 9), unfinished, 0..<20, isTus: false))
    _ = try server.admin("POST", "archive", body)
    #expect(try server.disk.list("/archive/acme/attachments").count == 3)
    try server.disk.replace(path + files[0].digest.hexadecimal, with: [UInt8](repeating: 0, count: 100))
    // What was copied before stays; what was not is not copied.
    _ = try server.admin("POST", "archive", body)
    #expect(problem { _ = try server.admin("POST", "archive", #"{"directory":"/second"}"#) } == .internal)
    #expect(try server.disk.list("/second/acme/attachments").sorted() == [files[1], files[2]].map(\.digest.hexadecimal).sorted())
  }

  @Test func `limits are told`() throws {
    #expect(Problem(offer(TestFile(100_001)))?.code == .tooLarge)
    for seed: UInt64 in 1...4 { #expect(offer(TestFile(10, seed: seed)).status == 201) }
    let refused = offer(TestFile(10, seed: 5))
    #expect(refused.status == 429 && refused.fields["retry-after"] != nil)
    let head = device.request("PATCH", "/v1/uploads/\(EventID(high: 1, low: 1).hexadecimal)")
    #expect(server.server.refusal(of: head, byteCount: 8 << 20) == nil)
    #expect(server.server.refusal(of: head, byteCount: 8 << 20 + 1)?.status == 413)
    #expect(server.server.refusal(of: device.request("POST", "/v1/attachments"), byteCount: 1 << 20)?.status == 413)
    #expect(server.send(device.request("DELETE", "/v1/attachments")).status == 405)
    #expect(server.send(device.request("GET", "/v1/attachments/abc")).status == 404)
    #expect(server.send(device.request("HEAD", "/v1/uploads/abc")).status == 404)
  }
}
