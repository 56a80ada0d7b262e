import TidemarkLog
import TidemarkProtocol
import TidemarkServer
import TidemarkText

enum ServeCommand {
  static let description = CommandDescription(
    "serve", "run a server that devices ship their logs to",
    arguments: [.init("DIR", "the server's directory; it is made if it is not there")],
    options: [
      .init("listen", "ADDRESS:PORT", "in numbers, [ADDRESS]:PORT for IPv6; port 0 for any that is free (default 127.0.0.1:8433)"),
      .init("certificate", "FILE", "the certificate and those that lead to its root (PEM); needs --key"),
      .init("key", "FILE", "the certificate's private key (PEM)"),
      .init("allow-plain-http", nil, "speak HTTP without TLS on an address that other machines reach: something in front has to encrypt"),
      .init("name", "NAME", "the server's name in its key, such as tidemark.example; at the first start only"),
      .init("settle-on-accept", nil, "what is accepted is settled, without an archive: a device may trim what only this server has"),
      .init("rate", "N", "requests a second that one device may make (default 20)"),
      .init("connections", "N", "open connections in all (default 1000)"),
      .init("connections-per-address", "N", "open connections from one address; devices of a site may share one (default 250)"),
      .init("log", "FILE", "append a line of JSON on each request to FILE; - for standard error"),
    ],
    notes: [
      "Prints `listening on URL` when it is ready, and serves until Ctrl-C or SIGTERM: then it accepts no more connections, finishes "
        + "what is in flight within ten seconds, and ends with exit code 0. A second signal ends it at once; nothing acknowledged "
        + "is lost by that.",
      "The first start makes the server's key and the operator's token, DIR/operator-token, which `tidemark admin` uses. Renewed "
        + "certificates are read at the next start. Specs/protocol.md says what is spoken.",
    ],
    examples: [
      .init("tidemark serve server", "on this machine only, to try it"),
      .init(
        "tidemark serve server --listen 0.0.0.0:8433 --certificate fullchain.pem --key key.pem", "for other machines"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let directory = arguments.argument("DIR") ?? ""
    let options = try httpOptions(arguments)
    let log = try arguments.value("log").map { $0 == "-" ? System.standardError : try System.openForAppending($0) }
    System.raiseFileLimit()
    let metrics = HTTPMetrics()
    var serverOptions = ServerOptions()
    serverOptions.settlesOnAccept = arguments.isSet("settle-on-accept")
    if let rate = try arguments.number("rate", in: 1...1_000_000_000) { serverOptions.limits.rate = rate }
    if let name = arguments.value("name") { serverOptions.name = name }
    serverOptions.metrics = { metrics.text }
    let server = try Server(at: directory, options: serverOptions, environment: Environment())
    let http: HTTPServer
    do {
      http = try HTTPServer(server, options, metrics: metrics) { record in
        // Nothing can be done where that fails; it must not stop the server.
        if let log { try? System.writeAll(log, record.json + [UInt8(ascii: "\n")]) }
      }
    } catch {
      try? server.close()
      throw error
    }
    try System.writeFile("\(directory)/\(ServerFiles.address)", Array("\(http.localURL)\n".utf8))
    output.line("listening on \(http.url)")
    try output.flush()
    Interrupt.wait()
    // First everything that waits is answered, then the answers are sent.
    server.stop()
    http.stop()
    try server.close()
    return .success
  }

  private static func httpOptions(_ arguments: ParsedArguments) throws -> HTTPServerOptions {
    var options = HTTPServerOptions()
    options.port = 8_433
    if let listen = arguments.value("listen") { (options.address, options.port) = try address(listen, arguments) }
    if let limit = try arguments.number("connections", in: 4...100_000) { options.connectionLimit = Int(limit) }
    if let limit = try arguments.number("connections-per-address", in: 1...100_000) { options.connectionLimitPerAddress = Int(limit) }
    options.allowsPlainHTTP = arguments.isSet("allow-plain-http")
    switch (arguments.value("certificate"), arguments.value("key")) {
    case (nil, nil): break
    case (let certificate?, let key?):
      options.identity = TLSIdentity(
        certificate: try System.readFile(certificate, upTo: 1 << 20), key: try System.readFile(key, upTo: 1 << 20))
    default: throw arguments.error("--certificate and --key", why: "one is of no use without the other")
    }
    return options
  }

  private static func address(_ text: String, _ arguments: ParsedArguments) throws -> (String, UInt16) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw arguments.error("--listen \(text)", why: "it has no port, as in 127.0.0.1:8433")
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    if host == "localhost" { host = "127.0.0.1" }
    return (String(host), port)
  }
}
