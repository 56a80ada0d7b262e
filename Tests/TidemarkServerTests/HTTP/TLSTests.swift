import Foundation
import TidemarkLog
import TidemarkServer
import Testing

@Suite("HTTP over TLS")
struct TLSTests {
  let directory: String

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "\(directory)/key.pem", "-out",
      "\(directory)/certificate.pem", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
  }

  @discardableResult
  func openssl(_ arguments: String..., input: String = "") throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    let (input, output) = (Data(input.utf8), Pipe())
    let pipe = Pipe()
    (process.standardInput, process.standardOutput, process.standardError) = (pipe, output, FileHandle.nullDevice)
    try process.run()
    pipe.fileHandleForWriting.write(input)
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: text, as: UTF8.self)
  }

  func identity() throws -> TLSIdentity {
    TLSIdentity(
      certificate: Array(try Data(contentsOf: URL(fileURLWithPath: "\(directory)/certificate.pem"))),
      key: Array(try Data(contentsOf: URL(fileURLWithPath: "\(directory)/key.pem"))))
  }

  func ask(_ server: HTTPServer, _ options: String...) throws -> String {
    let request = "GET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["openssl", "s_client", "-connect", "127.0.0.1:\(server.port)", "-CAfile", "\(directory)/certificate.pem", "-quiet"]
      + ["-verify_return_error", "-ign_eof"] + options
    let (input, output) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, FileHandle.nullDevice)
    try process.run()
    input.fileHandleForWriting.write(Data(request.utf8))
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: text, as: UTF8.self)
  }

  @Test("versions 1.2 and 1.3 are spoken, older ones and plain text are not, and who is silent is cut off")
  func versions() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var options = HTTPServerOptions()
    options.identity = try identity()
    options.address = "0.0.0.0"
    options.headSeconds = 2
    let server = try HTTPServer(TestHandler(), options)
    #expect(server.url == "https://0.0.0.0:\(server.port)")
    #expect(try ask(server, "-tls1_3").hasPrefix("HTTP/1.1 200 OK"))
    #expect(try ask(server, "-tls1_2").hasSuffix("GET /b "))
    #expect(try ask(server, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0").isEmpty)
    let plain = try RawClient(port: server.port)
    plain.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(!String(decoding: try #require(plain.readToEnd()), as: UTF8.self).contains("GET"))
    let silent = try RawClient(port: server.port)
    #expect(silent.readToEnd() != nil)
    #expect(try ask(server).hasPrefix("HTTP/1.1 200 OK"))
  }

  @Test("a certificate that is none, or another key's, is told at the start")
  func wrong() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try openssl("genpkey", "-algorithm", "ED25519", "-out", "\(directory)/other.pem")
    let right = try identity()
    let other = Array(try Data(contentsOf: URL(fileURLWithPath: "\(directory)/other.pem")))
    for identity in [TLSIdentity(certificate: [1, 2], key: right.key), TLSIdentity(certificate: right.certificate, key: other)] {
      var options = HTTPServerOptions()
      options.identity = identity
      do {
        _ = try HTTPServer(TestHandler(), options)
        Issue.record("it starts")
      } catch {
        #expect(error.code == .io && error.description.contains("certificate"), "\(error)")
      }
    }
  }
}
