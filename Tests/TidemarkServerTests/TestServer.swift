import Foundation
import TestSupport
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer
import TidemarkText

struct Missing: Error {}

/// A folder on the real disk that goes when the test ends.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A server whose log is on a simulated disk, and whose rows are in a folder of the real one: SQLite does its own input and output.
final class TestServer {
  let disk: SimulatedDisk
  let folder: TemporaryFolder
  let clock = SteppingClock()
  var options: ServerOptions
  private(set) var server: Server
  private(set) var operatorToken = ""
  private var seed: UInt64 = 1

  init(_ change: (inout ServerOptions) -> Void = { _ in }) throws {
    disk = SimulatedDisk()
    folder = try TemporaryFolder()
    options = ServerOptions()
    options.limits.rate = 1 << 20
    change(&options)
    server = try Server(at: "/server", rowsPath: folder.path, options: options, environment: .simulated(disk, seed: 1, clock: clock))
    try readToken()
    _ = try admin("POST", "tenants", #"{"tenant":"acme"}"#)
  }

  deinit { try? server.close() }

  private func readToken() throws {
    operatorToken = String(decoding: try disk.contents("/server/operator-token") ?? [], as: UTF8.self).filter { $0 != "\n" }
  }

  /// Closes, changes what is on the disk, and opens again.
  func reopen(_ change: () throws -> Void = {}) throws {
    try? server.close()
    try change()
    seed += 1
    server = try Server(at: "/server", rowsPath: folder.path, options: options, environment: .simulated(disk, seed: seed, clock: clock))
  }

  func send(_ request: HTTPRequest) -> HTTPResponse { TidemarkServerTests.send(request, to: server) }

  func admin(_ method: String, _ path: String, _ body: String? = nil) throws -> JSONObject {
    var request = HTTPRequest(method, "/v1/admin/\(path)", body: Array((body ?? "").utf8))
    request.fields["authorization"] = "Bearer \(operatorToken)"
    request.fields["content-type"] = MediaType.json
    let response = send(request)
    guard (200...201).contains(response.status) else { throw Problem(response) ?? Problem(.internal, "status \(response.status)") }
    return try JSONValue(response.body).object("the answer")
  }

  func code(_ tenant: String = "acme") throws -> String {
    try admin("POST", "codes", #"{"tenant":"\#(tenant)"}"#).string("code")
  }

  /// All of a tenant's changes of the kind `event`, as number, log and offset.
  func changes(_ tenant: String = "acme", since: UInt64 = 0) throws -> [(number: UInt64, log: String, offset: Offset)] {
    var found: [(UInt64, String, Offset)] = []
    var since = since
    while true {
      let page = try admin("GET", "changes?tenant=\(tenant)&since=\(since)&limit=7")
      let through = try page.number("through", in: 0...UInt64.max)
      for change in try page.array("changes") {
        let change = try change.object("a change")
        guard try change.string("kind") == "event" else { continue }
        found.append(
          (try change.number("number", in: 1...UInt64.max), try change.string("log"), try change.number("offset", in: 0...UInt64.max)))
      }
      if through == since { return found }
      since = through
    }
  }

  /// Looks again and again until something is so; false if it is not within ten seconds.
  func wait(_ isSo: () throws -> Bool) throws -> Bool {
    for _ in 0..<5_000 {
      if try isSo() { return true }
      Thread.sleep(forTimeInterval: 0.002)
    }
    return false
  }

  /// Every row that is derived.
  func rows() throws -> [String] { try EmbeddedStorage.everything(folder.path) }
}

/// Sends a request and waits for the answer.
func send(_ request: HTTPRequest, to server: Server) -> HTTPResponse {
  let answered = DispatchSemaphore(value: 0)
  let answer = Locked<HTTPResponse?>(nil)
  server.handle(request) { reply in
    if case .answer(let response) = reply { answer.withLock { $0 = response } }
    answered.signal()
  }
  answered.wait()
  return answer.withLock { $0 } ?? HTTPResponse(0)
}

extension TemporaryFolder {
  func remove(_ name: String) { try? FileManager.default.removeItem(atPath: "\(path)/\(name)") }
  func contents(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)"))) }
}

extension HTTPResponse {
  func object() throws -> JSONObject {
    if let problem = Problem(self) { throw problem }
    return try JSONValue(body).object("the answer")
  }
}

/// A size and its root, as they are sent.
struct HeadMessage: Message {
  static let what = "a head"
  var head: TreeHead

  init(head: TreeHead) { self.head = head }
  init(_ object: JSONObject) throws(TextError) { head = try TreeHead(object) }
  func write(to json: inout JSONWriter) { head.write(to: &json) }
}
