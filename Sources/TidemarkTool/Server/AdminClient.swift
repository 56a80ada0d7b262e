import TidemarkLog
import TidemarkProtocol
import TidemarkText

/// Calls of a server's operator.
struct AdminClient {
  /// Sends a request to a server whose address is given without a slash at the end. Throws if no answer came.
  typealias Transport = (HTTPRequest, _ server: String) throws -> HTTPResponse

  let server: String
  private let token: String
  private let transport: Transport

  static let options: [CommandDescription.Option] = [
    .init("data", "DIR", "the server's directory: its operator-token, and its address where `tidemark serve` runs on this machine"),
    .init("server", "URL", "where the server is, such as https://tidemark.example"),
    .init("token-file", "FILE", "the operator's token, in the place of DIR/operator-token"),
    .init("ca", "FILE", "certificates (PEM) to trust in the place of the system's"), .json,
  ]

  /// Throws if neither a directory nor both of address and token are given.
  init(_ arguments: ParsedArguments) throws {
    let directory = arguments.value("data")
    guard let tokenFile = arguments.value("token-file") ?? directory.map({ "\($0)/\(ServerFiles.operatorToken)" }) else {
      throw arguments.error("--data is missing", why: "the operator's token is in the server's directory, or in a --token-file")
    }
    token = try Self.line(of: tokenFile)
    if let given = arguments.value("server") {
      server = given
    } else if let directory {
      server = try Self.line(of: "\(directory)/\(ServerFiles.address)")
    } else {
      throw arguments.error("--server is missing", why: "without --data nothing tells where the server is")
    }
    transport = try AdminTransport.make(server, authorities: arguments.value("ca"))
  }

  private static func line(of file: String) throws -> String {
    let line = String(decoding: try System.readFile(file, upTo: 4_096), as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
    guard !line.isEmpty, line.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
      throw ToolError(
        .usage, "can't read the file", place: file, why: "its first line is none of a token or an address", advice: "check which file it is"
      )
    }
    return line
  }

  /// The version in force of an item; 0 if there is none.
  func version(of item: String, _ tenant: String) throws -> UInt64 {
    let snapshot = try call("GET", under: "/v1/changes", "snapshot?tenant=\(tenant)")
    for element in (try? snapshot.object.array("items")) ?? [] {
      guard let object = try? element.object("an item"), try object.string("item") == item else { continue }
      return try object.number("version", in: 0...UInt64(Int64.max) - 1)
    }
    return 0
  }

  /// Makes a call, and returns the members of the answer. Throws what the server says against it.
  func call(
    _ method: String, under path: String = "/v1/admin", _ target: String, _ body: ((inout JSONWriter) throws -> Void)? = nil
  ) throws -> Answer {
    var request = HTTPRequest(method, "\(path)/\(target)")
    request.fields["authorization"] = "Bearer \(token)"
    if let body {
      var json = JSONWriter()
      json.beginObject()
      try body(&json)
      json.endObject()
      request.body = json.bytes
      request.fields["content-type"] = MediaType.json
      request.fields[ContentDigestField.name] = ContentDigestField.value(of: json.bytes)
    }
    let response = try transport(request, server)
    if let problem = Problem(response) { throw Self.error(problem, server) }
    guard (200...299).contains(response.status), MediaType.matches(response.fields["content-type"], MediaType.answer),
      let object = try? JSONValue(response.body).object("the answer")
    else {
      throw ToolError(
        .environment, "no answer of a server", place: server, why: "status \(response.status) with something else than an answer",
        advice: "check the address, and what lies between")
    }
    return Answer(json: response.body, object: object)
  }

  struct Answer {
    /// As it came.
    var json: [UInt8]
    var object: JSONObject
  }

  private static func error(_ problem: Problem, _ server: String) -> ToolError {
    let (code, advice): (ExitCode, String) =
      switch problem.code {
      case .unauthorized, .refreshRefused, .notPermitted: (.environment, "check that the token is this server's operator's")
      case .malformed, .tooLarge, .mediaType: (.usage, "see `tidemark help admin`")
      case .notFound, .refused, .gone: (.negative, "see `tidemark admin devices` and `tidemark admin quarantine`")
      default: (problem.problemClass == .conflict ? .negative : .environment, "try again in a while")
      }
    return ToolError(code, "the server refuses", place: server, why: problem.detail, advice: advice)
  }
}

/// Files in a server's directory that other programs read.
enum ServerFiles {
  static let operatorToken = "operator-token"
  /// Where the server listened last, for programs on the same machine.
  static let address = "address"
}
