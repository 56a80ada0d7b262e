import Foundation
import TestSupport
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer
import TidemarkText

/// A server's process: its log on a simulated disk, its databases in a folder of the real one, because SQLite does its own input and
/// output.
final class ServerProcess {
  static let tenant = "acme"
  private static let path = "/server"
  private static let limits = {
    var options = ServerOptions()
    options.limits.rate = 1 << 20
    return options
  }()

  let disk: SimulatedDisk
  let server: Server
  private let databases: DatabaseFolder
  private let operatorToken: String

  init(_ disk: SimulatedDisk, _ databases: DatabaseFolder, _ clock: SteppingClock, seed: UInt64) throws {
    self.disk = disk
    self.databases = databases
    server = try Server(
      at: Self.path, rowsPath: databases.path, options: Self.limits, environment: .simulated(disk, seed: seed, clock: clock))
    let token = try disk.contents("\(Self.path)/operator-token") ?? []
    operatorToken = String(decoding: token, as: UTF8.self).filter { $0 != "\n" }
  }

  deinit { try? server.close() }

  var generation: EventID { server.storage.generation }

  func send(_ request: HTTPRequest) -> HTTPResponse {
    let answered = DispatchSemaphore(value: 0)
    let answer = Locked<HTTPResponse?>(nil)
    server.handle(request) { reply in
      if case .answer(let response) = reply { answer.withLock { $0 = response } }
      answered.signal()
    }
    answered.wait()
    return answer.withLock { $0 } ?? HTTPResponse(0)
  }

  /// A call of the operator's.
  func administrate(_ method: String, _ path: String, _ body: String = "") throws -> JSONObject {
    var request = HTTPRequest(method, "/v1/admin/\(path)", body: Array(body.utf8))
    request.fields["authorization"] = "Bearer \(operatorToken)"
    request.fields["content-type"] = MediaType.json
    let response = send(request)
    if let problem = Problem(response) { throw problem }
    return try JSONValue(response.body).object("the answer")
  }

  /// What a puller has seen at each change number, from 1: log and offset, and the event's id.
  func changes() throws -> [SeenChange] {
    let page = try administrate("GET", "changes?tenant=\(Self.tenant)&since=0&limit=10000")
    return try page.array("changes").map { value in
      let change = try value.object("a change")
      return SeenChange(
        number: try change.number("number", in: 0...UInt64.max), place: "\(try change.string("log")) \(try change.offset("offset"))",
        id: try change.string("id"))
    }
  }
}

/// An event among a tenant's changes.
struct SeenChange: Equatable, CustomStringConvertible {
  var number: UInt64
  /// Log and offset.
  var place: String
  var id: String

  var description: String { "\(number): \(id) from \(place)" }
}

/// A folder of the real disk for a server's databases; it goes with the last reference.
final class DatabaseFolder {
  /// The contents of its files by name.
  typealias Copy = [String: Data]

  let path: String

  init(_ copy: Copy = [:]) throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (name, contents) in copy { try contents.write(to: URL(filePath: "\(path)/\(name)")) }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// What a crash at this moment leaves at best; what SQLite shares between processes is not part of it.
  func copy() throws -> Copy {
    var copy: Copy = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) where !name.hasSuffix("-shm") {
      copy[name] = try Data(contentsOf: URL(filePath: "\(path)/\(name)"))
    }
    return copy
  }
}
