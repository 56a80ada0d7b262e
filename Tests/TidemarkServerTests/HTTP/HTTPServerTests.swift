import Foundation
import TidemarkLog
import TidemarkProtocol
import TidemarkServer
import Testing

@Suite("HTTP server")
struct HTTPServerTests {
  let handler = TestHandler()
  let metrics = HTTPMetrics()

  func server(_ change: (inout HTTPServerOptions) -> Void = { _ in }) throws -> HTTPServer {
    var options = HTTPServerOptions()
    change(&options)
    return try HTTPServer(handler, options, metrics: metrics)
  }

  func code(_ body: () throws -> Void) -> LogError.Code? {
    do { try body() } catch { return (error as? LogError)?.code }
    return nil
  }

  @Test("answers, again on the same connection, and nothing tells what it runs on")
  func answers() throws {
    let server = try server()
    let client = try RawClient(port: server.port)
    for _ in 0..<3 {
      let response = try #require(client.get("/a?b=%20c"))
      #expect(response.status == 200 && response.text == "GET /a?b=%20c ")
      #expect(response.fields["server"] == nil && response.fields["cache-control"] == "no-store")
    }
    let posted = try #require(client.post("/a", Array("body".utf8)))
    #expect(posted.text == "POST /a body")
    client.send("HEAD /a HTTP/1.1\r\nHost: test\r\n\r\nPURGE /b HTTP/1.1\r\nHost: test\r\nX-Echo: one\r\nx-echo: two\r\n\r\n")
    let head = try #require(client.response(toHead: true))
    #expect(head.status == 200 && head.fields["content-length"] == "8")
    let other = try #require(client.response())
    #expect(other.text == "PURGE /b " && other.fields["x-echo"] == "one, two")
    #expect(try #require(client.get("/empty")).status == 204)
    #expect(try #require(client.get("http://host/b")).text == "GET /b ")
  }

  @Test("answers later, from another thread, to many at once; a second reply changes nothing")
  func later() async throws {
    let server = try server()
    let port = server.port
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<60 {
        group.addTask {
          let client = try RawClient(port: port)
          for _ in 0..<4 {
            let response = try #require(client.get("/later"))
            #expect(response.status == 200 && response.text == "later")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(handler.handled == 240)
  }

  @Test("large bodies come and go whole")
  func large() throws {
    let server = try server()
    let client = try RawClient(port: server.port)
    let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    #expect(try #require(client.post("/a", body)).body == Array("POST /a ".utf8) + body)
    #expect(try #require(client.get("/large")).body.count == 8 << 20)
  }

  struct Malformed: Sendable, CustomTestStringConvertible {
    var text: String
    /// Nil where the connection may be closed without an answer.
    var status: Int?

    init(_ text: String, _ status: Int?) {
      self.text = text
      self.status = status
    }

    var testDescription: String { String(reflecting: String(text.prefix(60))) }
  }

  static let malformed: [Malformed] = [
    .init("GARBAGE\r\n\r\n", nil), .init("GET\r\n\r\n", nil), .init("GET /\r\nHost: a\r\n\r\n", nil),
    .init("GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505),
    .init("GET / HTTP/1.1\r\n\r\n", 400), .init("GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    .init("GET nothing HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    .init("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400), .init("GET / HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n", 400),
    .init("GET / HTTP/1.1\r\nHost: a\r\nX: a\u{7f}b\r\n\r\n", 400), .init("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    .init("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 400), .init("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    .init("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\nGET /b HT", 400),
    .init("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
    .init("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
    .init("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
    .init("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 411),
    .init("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 411),
    .init("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", 431),
    .init("GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: y\r\n", count: 50_000))\r\n", 431),
    .init("GET /\(String(repeating: "x", count: 200_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    .init("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", nil), .init("\u{16}\u{3}\u{1}\u{0}\u{5}\u{1}\u{0}\u{0}\r\n\r\n", nil),
    .init("\r\n\r\n\r\n\u{0}\u{0}\r\n\r\n", nil),
  ]

  @Test("what is malformed or too large is answered or cut off, and others are served on", arguments: malformed)
  func malformedRequest(_ request: Malformed) throws {
    let server = try server { $0.headSeconds = 1 }
    let client = try RawClient(port: server.port)
    client.send(request.text)
    let bytes = try #require(client.readToEnd(), "the connection stays open")
    if let status = request.status { #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "), "\(bytes.count)") }
    #expect(handler.handled == 0)
    #expect(try #require(RawClient(port: server.port).get("/b")).status == 200)
  }

  @Test("header fields that are not UTF-8 are refused")
  func notUTF8() throws {
    let server = try server()
    for bytes in [Array("GET / HTTP/1.1\r\nHost: a\r\nX: ".utf8) + [0xFF, 0xFE], Array("GET /".utf8) + [0xC3, 0x28]] {
      let client = try RawClient(port: server.port)
      client.send(bytes + Array((bytes[5] == 0xC3 ? " HTTP/1.1\r\nHost: a" : "").utf8) + Array("\r\n\r\n".utf8))
      let response = try #require(client.response())
      #expect(response.status == 400 && Problem(HTTPResponse(400, fields: fields(response), body: response.body))?.code == .malformed)
    }
  }

  func fields(_ response: RawClient.Response) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in response.fields { fields[name] = value }
    return fields
  }

  @Test("a body is refused before it comes, and a small one is read first")
  func refusals() throws {
    let server = try server { $0.bodyByteLimit = 1 << 20 }
    let client = try RawClient(port: server.port)
    client.send("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n")
    #expect(try #require(client.response()).status == 413)
    #expect(client.readToEnd() == [])
    let expecting = try RawClient(port: server.port)
    expecting.send("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\nExpect: 100-continue\r\n\r\n")
    #expect(try #require(expecting.response()).status == 413)
    let welcome = try RawClient(port: server.port)
    welcome.send("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
    #expect(try #require(welcome.response()).status == 100)
    welcome.send("abcd")
    #expect(try #require(welcome.response()).text == "POST /small abcd")
    let small = try RawClient(port: server.port)
    #expect(try #require(small.post("/small", [UInt8](repeating: 65, count: 20))).status == 413)
    #expect(try #require(small.post("/small", [66])).text == "POST /small B")
    #expect(try #require(small.get("/secret")).fields["www-authenticate"] == "Bearer")
    #expect(try #require(small.get("/b")).status == 200)
    let huge = try RawClient(port: server.port)
    huge.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n")
    #expect(try #require(huge.response()).status == 413)
  }

  @Test("bodies in flight are bounded in all")
  func bodiesInFlight() throws {
    let server = try server { $0.bodyBytesInFlightLimit = 1_000 }
    let first = try RawClient(port: server.port)
    first.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\nExpect: 100-continue\r\n\r\n")
    #expect(try #require(first.response()).status == 100)
    let second = try RawClient(port: server.port)
    let refused = try #require(second.post("/b", [UInt8](repeating: 1, count: 200)))
    #expect(refused.status == 429 && refused.fields["retry-after"] == "2")
    first.send([UInt8](repeating: 1, count: 900))
    #expect(try #require(first.response()).status == 200)
    #expect(try #require(second.post("/b", [UInt8](repeating: 1, count: 200))).status == 200)
  }

  @Test("pipelined requests are answered in order")
  func pipelined() throws {
    let server = try server()
    let client = try RawClient(port: server.port)
    client.send(
      (0..<50).map { "POST /\($0 % 3 == 0 ? "later" : "p\($0)") HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy" }.joined())
    for number in 0..<50 {
      let response = try #require(client.response())
      #expect(response.text == (number % 3 == 0 ? "later" : "POST /p\(number) xy"))
    }
  }

  @Test("who is slow, byte by byte, in header fields, a body or after TLS was expected, is cut off in time")
  func slow() async throws {
    let server = try server {
      $0.headSeconds = 1
      $0.bodySeconds = 1
      $0.bytesPerSecond = 1 << 20
      $0.idleSeconds = 1
    }
    let beginnings = ["", "G", "GET / HTTP/1.1\r\nHost: a\r\nX: ", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for beginning in beginnings {
        group.addTask { [port = server.port] in
          let client = try RawClient(port: port)
          client.send(beginning)
          // The server's limits are a second: this is long enough on any machine.
          var isCut = false
          for _ in 0..<2_000 where !isCut {
            isCut = !client.send("x")
            usleep(50_000)
          }
          #expect(isCut, "\(beginning)")
        }
      }
      try await group.waitForAll()
    }
    let idle = try RawClient(port: server.port)
    #expect(try #require(idle.get("/b")).status == 200)
    #expect(idle.readToEnd() == [])
    #expect(metrics.text.contains("tidemark_http_connections_cut_total"))
    #expect(try #require(RawClient(port: server.port).get("/b")).status == 200)
  }

  @Test("half-open connections and those that break off cost nothing for long")
  func halfOpen() throws {
    let server = try server()
    for length in [0, 10, 40] {
      for _ in 0..<20 {
        let client = try RawClient(port: server.port)
        client.send(String("POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc".prefix(length + 15)))
      }
    }
    let halfClosed = try RawClient(port: server.port)
    halfClosed.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
    halfClosed.finishSending()
    // The library takes that for the end; clients of HTTP do not close one half.
    #expect(halfClosed.readToEnd() != nil)
    let gone = try RawClient(port: server.port)
    gone.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try #require(RawClient(port: server.port).get("/b")).status == 200)
  }

  @Test("connections are limited, per address and in all")
  func connectionLimits() throws {
    let server = try server { $0.connectionLimitPerAddress = 5 }
    let clients = try (0..<5).map { _ in try RawClient(port: server.port) }
    for client in clients { #expect(try #require(client.get("/b")).status == 200) }
    let sixth = try RawClient(port: server.port)
    #expect(sixth.get("/b") == nil)
    #expect(try #require(clients[0].get("/b")).status == 200)
  }

  @Test("a stream gives news, signs of life, and ends when the handler says so")
  func stream() throws {
    let server = try server { $0.heartbeatSeconds = 1 }
    let client = try RawClient(port: server.port)
    client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try #require(client.readUntil(":\n\n")).contains("text/event-stream"))
    handler.publish(7)
    #expect(client.readUntil("data: 7\n\n") != nil)
    handler.publish(8)
    #expect(client.readUntil("data: 8\n\n") != nil)
    usleep(1_200_000)
    #expect(metrics.text.contains("tidemark_http_streams 1"))
    handler.revoke()
    let rest = String(decoding: try #require(client.readToEnd()), as: UTF8.self)
    #expect(rest.components(separatedBy: ":\n\n").count > 2)
    #expect(rest.hasSuffix("\r\n0\r\n\r\n"))
  }

  @Test("stopping ends streams, waits for what is in flight, answers what still waits, and refuses new connections")
  func stop() async throws {
    let server = try server()
    let (stream, later, never, idle) = try (
      RawClient(port: server.port), RawClient(port: server.port), RawClient(port: server.port), RawClient(port: server.port)
    )
    stream.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(stream.readUntil(":\n\n") != nil)
    #expect(try #require(idle.get("/b")).status == 200)
    never.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
    later.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
    while handler.handled < 4 { usleep(1_000) }
    server.stop(graceSeconds: 1)
    #expect(try #require(later.response()).text == "later")
    #expect(try #require(never.response()).status == 503)
    #expect(stream.readToEnd() != nil && idle.readToEnd() == [])
    handler.replyLate()
    #expect(throws: (any Error).self) { try RawClient(port: server.port) }
    server.stop()
  }

  @Test("stopping while much goes on leaves nobody waiting")
  func stopInTraffic() async throws {
    for _ in 0..<5 {
      let server = try server()
      let port = server.port
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<16 {
          group.addTask {
            guard let client = try? RawClient(port: port) else { return }
            let target = ["/b", "/later", "/stream", "/never"][number % 4]
            while let response = client.get(target) { if response.status == 503 { break } }
          }
        }
        usleep(60_000)
        server.stop(graceSeconds: 0)
        handler.replyLate()
        await group.waitForAll()
      }
    }
  }

  @Test("metrics count by the kind of call, and the log has no secrets")
  func metricsAndLog() throws {
    let records = Locked<[RequestRecord]>([])
    let server = try HTTPServer(handler, metrics: metrics) { record in records.withLock { $0.append(record) } }
    let client = try RawClient(port: server.port)
    client.send("GET /v1/changes?since=3 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer tma_secret\r\n\r\n")
    #expect(try #require(client.response()).status == 200)
    #expect(try #require(client.post("/v1/logs/0/epochs/1/frames", [1, 2, 3])).status == 200)
    server.stop()
    let text = metrics.text
    #expect(text.contains("tidemark_http_requests_total{route=\"changes\",method=\"GET\",status=\"200\"} 1\n"))
    #expect(text.contains("tidemark_http_requests_total{route=\"frames\",method=\"POST\",status=\"200\"} 1\n"))
    #expect(text.contains("tidemark_http_received_bytes_total 3\n") && text.contains("tidemark_http_requests_in_flight 0\n"))
    #expect(text.contains("tidemark_http_connections 0\n"))
    let lines = records.withLock { $0 }.map { String(decoding: $0.json, as: UTF8.self) }
    #expect(lines.count == 2 && lines[0].contains("\"target\":\"/v1/changes?since=3\"") && lines[0].contains("\"peer\":\"127.0.0.1\""))
    #expect(!lines.joined().contains("secret"))
  }

  @Test("plain HTTP is only for loopback addresses, and what is no address is refused")
  func addresses() throws {
    #expect(code { _ = try server { $0.address = "0.0.0.0" } } == .invalidArgument)
    #expect(code { _ = try server { $0.address = "::" } } == .invalidArgument)
    #expect(code { _ = try server { $0.address = "example" } } == .invalidArgument)
    let open = try server {
      $0.address = "0.0.0.0"
      $0.allowsPlainHTTP = true
    }
    #expect(try #require(RawClient(port: open.port).get("/b")).status == 200)
    #expect(code { _ = try server { $0.port = open.port } } == .io)
    let six = try? server { $0.address = "::1" }
    if let six { #expect(six.url == "http://[::1]:\(six.port)") }
  }
}
