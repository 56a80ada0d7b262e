import Foundation
import TestSupport
import Testing
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

@Suite("Requests by libcurl") struct CurlTransportTests {
  private static let ok =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nX-Answer:  forty two \r\nContent-Length: 5\r\n\r\nhello"

  private func address(_ server: SocketServer) throws -> ServerAddress { try ServerAddress("http://127.0.0.1:\(server.port)/base/") }

  private func quick() -> CurlTransport {
    var limits = CurlTransport.Limits()
    limits.connectSeconds = 2
    limits.stallSeconds = 2
    limits.answerByteCount = 1 << 20
    return CurlTransport(limits: limits)
  }

  private func failure(_ body: () async throws -> HTTPResponse) async -> LogError.Code? {
    do {
      _ = try await body()
      return nil
    } catch { return (error as? LogError)?.code }
  }

  @Test("sends what it was given, and keeps the connection") func exchange() async throws {
    let seen = Locked([(head: String, body: [UInt8])]())
    let server = try SocketServer { connection in
      while let request = connection.readRequest() {
        seen.withLock { $0.append(request) }
        connection.write(Self.ok)
      }
    }
    let transport = quick()
    var request = HTTPRequest("POST", "/v1/token?x=1", body: Array("body".utf8))
    request.fields["X-Own"] = "mine"
    let big = [UInt8](repeating: 0xE5, count: 3 << 20)
    for (method, body) in [("POST", request.body), ("PUT", request.body), ("POST", []), ("GET", []), ("PATCH", big)] {
      request.method = method
      request.body = body
      let response = try await transport.send(request, to: address(server))
      #expect(response.status == 200)
      #expect(response.body == Array("hello".utf8))
      #expect(response.fields["x-answer"] == "forty two")
      #expect(response.fields["content-type"] == "text/plain; charset=utf-8")
    }
    #expect(server.connectionCount == 1)
    let requests = seen.withLock { $0 }
    let lines = requests.map { String($0.head.split(separator: " ").prefix(2).joined(separator: " ")) }
    #expect(lines == ["POST", "PUT", "POST", "GET", "PATCH"].map { "\($0) /base/v1/token?x=1" })
    #expect(requests.map(\.body) == [Array("body".utf8), Array("body".utf8), [], [], big])
    #expect(requests[0].head.lowercased().contains("x-own: mine"))
    #expect(requests[2].head.lowercased().contains("content-length: 0"))
  }

  @Test("a redirect is given back, not followed") func redirect() async throws {
    let other = try SocketServer { $0.write(Self.ok) }
    let server = try SocketServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(other.port)/\r\nContent-Length: 0\r\n\r\n")
    }
    let response = try await quick().send(HTTPRequest("POST", "/", body: [1]), to: address(server))
    #expect(response.status == 302)
    #expect(response.fields["location"] != nil)
    #expect(other.connectionCount == 0)
  }

  @Test("nobody there, an answer that ends early, is no HTTP, stalls, or does not end: a failure") func failures() async throws {
    let transport = quick()
    let gone = try SocketServer { _ in }.port
    let nobody = try ServerAddress("http://127.0.0.1:\(gone)")
    #expect(await failure { try await transport.send(HTTPRequest("GET", "/"), to: nobody) } == .transport)
    let answers: [@Sendable (SocketServer.Connection) -> Void] = [
      { _ in },
      { $0.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") },
      { $0.write("garbage without end\r\n\r\n") },
      { connection in
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        connection.wait(milliseconds: 6_000)
      },
      { connection in
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n")
        connection.write([UInt8](repeating: 1, count: 3_000_000))
      },
    ]
    for answer in answers {
      let server = try SocketServer { connection in
        _ = connection.readRequest()
        answer(connection)
      }
      #expect(await failure { try await transport.send(HTTPRequest("GET", "/"), to: address(server)) } == .transport)
    }
  }

  @Test("a server that is half open: it takes the request and never answers", .timeLimit(.minutes(5))) func halfOpen() async throws {
    let server = try SocketServer { connection in
      _ = connection.readRequest()
      connection.wait(milliseconds: 900_000)
    }
    #expect(await failure { try await quick().send(HTTPRequest("POST", "/", body: [1]), to: address(server)) } == .transport)
  }

  @Test("ends when it is cancelled", .timeLimit(.minutes(5))) func cancels() async throws {
    let server = try SocketServer { connection in
      _ = connection.readRequest()
      connection.wait(milliseconds: 900_000)
    }
    let address = try address(server)
    let task = Task { try await CurlTransport().send(HTTPRequest("GET", "/"), to: address) }
    try await Task.sleep(for: .milliseconds(300))
    task.cancel()
    #expect(await failure { try await task.value } == .transport)
  }

  @Test("a slow answer is waited for") func slow() async throws {
    let server = try SocketServer { connection in
      _ = connection.readRequest()
      for byte in Self.ok.utf8 {
        connection.write([byte])
        connection.wait(milliseconds: 15)
      }
    }
    #expect(try await CurlTransport().send(HTTPRequest("GET", "/"), to: address(server)).body == Array("hello".utf8))
  }

  @Test("TLS: a certificate that nobody vouches for is refused, unless its authority is given") func tls() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (certificate, key) = (folder + "/cert.pem", folder + "/key.pem")
    try run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate
    ).waitUntilExit()
    let output = Pipe()
    let server = try run("openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", certificate, "-key", key, output: output)
    // It inherits a mask that blocks SIGTERM.
    defer { kill(server.processIdentifier, SIGKILL) }
    var text = ""
    while !text.contains("ACCEPT 127.0.0.1:") || text.last != "\n" {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { break }
      text += String(decoding: data, as: UTF8.self)
    }
    let port = try #require(text.split(separator: ":").last?.prefix { $0.isNumber })
    let address = try ServerAddress("https://localhost:\(port)")
    #expect(await failure { try await CurlTransport().send(HTTPRequest("GET", "/"), to: address) } == .transport)
    #expect(try await CurlTransport(authorities: certificate).send(HTTPRequest("GET", "/"), to: address).status == 200)
    // The right authority, the wrong name.
    let other = try ServerAddress("https://127.0.0.1:\(port)")
    #expect(await failure { try await CurlTransport(authorities: certificate).send(HTTPRequest("GET", "/"), to: other) } == .transport)
  }

  @discardableResult
  private func run(_ arguments: String..., output: Pipe? = nil) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.standardOutput = output ?? FileHandle.nullDevice
    try process.run()
    return process
  }

  @Test("addresses: TLS, but on this machine") func addresses() throws {
    for text in ["https://a.example", "https://a.example:8443/x/", "http://localhost:1", "http://127.0.0.1", "http://[::1]:80"] {
      #expect(throws: Never.self) { try ServerAddress(text) }
    }
    for text in [
      "http://a.example", "ftp://a.example", "a.example", "https://", "https:///x", "https://u@a.example", "https://a b", "https://a?x",
      "http://127.0.0.1.a.example", "http://127.0.0",
    ] {
      #expect(throws: LogError.self) { try ServerAddress(text) }
    }
    #expect(try ServerAddress("http://a.example", allowsPlainText: true).description == "http://a.example")
  }
}
