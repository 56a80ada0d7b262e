internal import Foundation
internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkReplication

/// `tidemark-load`: many devices at once against a server, and what they met.
@main
struct Load {
  static let usage = """
    usage: tidemark-load --server URL --operator-token FILE --devices N --events N [options]

      --server URL           where it is
      --operator-token FILE  to enrol the devices
      --ca FILE              certificates to trust, as PEM
      --devices N            how many there are
      --events N             how many events each has when it connects
      --batch N              most events of a shipment (500)
      --within SECONDS       the devices connect one after another in this time (0: at once)
      --at-most SECONDS      give up after so long (600)

    Enrols the devices and makes their shipments, which is not timed. Then prints a line of JSON: seconds until the last device had its
    last receipt, events a second, from each device's connecting to its last receipt the median, the 99th percentile and the slowest, what
    was refused, and how many devices were not served. Exit code 1 if that is any.

    """

  static func main() {
    do {
      let arguments = Array(CommandLine.arguments.dropFirst())
      if arguments.isEmpty || arguments.contains("--help") { return print(usage, terminator: "") }
      exit(try Load(arguments).run() ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("tidemark-load: \(error)\n".utf8))
      exit(2)
    }
  }

  private struct Misuse: Error, CustomStringConvertible {
    let description: String
  }

  private var server = ""
  private var operatorToken = ""
  private var authorities: String?
  private var counts = ["--devices": 0, "--events": 0, "--batch": 500, "--within": 0, "--at-most": 600]

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      guard let value = rest.popFirst() else { throw Misuse(description: "\(option) needs a value; see --help") }
      switch option {
      case "--server": server = value
      case "--operator-token":
        operatorToken = try String(contentsOfFile: value, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
      case "--ca": authorities = value
      default:
        guard counts[option] != nil else { throw Misuse(description: "there is no option \(option); see --help") }
        guard let number = Int(value), number >= 0 else { throw Misuse(description: "\(option) needs a number, not \(value)") }
        counts[option] = number
      }
    }
    for option in ["--devices", "--events", "--batch"] where count(option) < 1 {
      throw Misuse(description: "\(option) is missing")
    }
  }

  private func count(_ option: String) -> Int { counts[option] ?? 0 }

  private func run() throws -> Bool {
    let connections = Connections(try ServerAddress(server), authorities: authorities)
    let hasher = SHA256()
    let devices = try (0..<count("--devices")).map { try SimulatedDevice($0, hasher: hasher) }
    try enrol(devices, connections)
    for device in devices { device.capture(Offset(count("--events")), batch: Offset(count("--batch"))) }
    let result = ship(devices, connections)
    print(result.text)
    return result.unserved == 0
  }

  // MARK: Enrolling

  private func enrol(_ devices: [SimulatedDevice], _ connections: Connections) throws {
    func administer(_ target: String, _ body: String) throws -> HTTPResponse {
      var request = HTTPRequest("POST", target, MediaType.json, Array(body.utf8))
      request.fields["authorization"] = "Bearer \(operatorToken)"
      connections.send(request, of: -1)
      return try answer(connections)
    }
    _ = try administer("/v1/admin/tenants", #"{"tenant":"load"}"#)
    for device in devices {
      let code = try CodeAnswer(json: administer("/v1/admin/codes", #"{"tenant":"load"}"#).body)
      connections.send(device.enrolment(code.code), of: -1)
      try device.enrolled(try EnrolmentAnswer(json: answer(connections).body))
    }
    connections.close(-1)
  }

  private func answer(_ connections: Connections) throws -> HTTPResponse {
    while true {
      guard let outcome = connections.poll(milliseconds: 1_000).first else { continue }
      guard let answer = outcome.answer, answer.status < 300 else {
        throw Misuse(description: "the server does not enrol devices: \(outcome.answer.map { "status \($0.status)" } ?? outcome.failure)")
      }
      return answer
    }
  }

  // MARK: Shipping

  private struct Result {
    let text: String
    let unserved: Int
  }

  private func ship(_ devices: [SimulatedDevice], _ connections: Connections) -> Result {
    let begin = monotonicNow()
    let window = UInt64(count("--within")) * 1_000_000_000
    let arrivals = devices.indices.map { begin + window * UInt64($0) / UInt64(devices.count) }
    let limit = begin + UInt64(count("--at-most")) * 1_000_000_000
    var arrived = 0
    var waiting: Set<Int> = []
    var durations: [Double] = []
    var open = devices.count
    while open > 0, monotonicNow() < limit {
      var now = monotonicNow()
      while arrived < devices.count, arrivals[arrived] <= now {
        waiting.insert(arrived)
        arrived += 1
      }
      for number in waiting where devices[number].deadline.map({ $0 <= now }) ?? true {
        waiting.remove(number)
        if let request = devices[number].next(now: now) { connections.send(request, of: number) } else { waiting.insert(number) }
      }
      for outcome in connections.poll(milliseconds: 5) {
        now = monotonicNow()
        let device = devices[outcome.device]
        device.received(outcome.answer, outcome.failure, now: now)
        if device.isDone {
          durations.append(Double(now - arrivals[outcome.device]) / 1e9)
          connections.close(outcome.device)
          open -= 1
          continue
        }
        if let request = device.next(now: now) { connections.send(request, of: outcome.device) } else { waiting.insert(outcome.device) }
      }
    }
    return result(devices, Double(monotonicNow() - begin) / 1e9, durations.sorted())
  }

  private func result(_ devices: [SimulatedDevice], _ seconds: Double, _ durations: [Double]) -> Result {
    let accepted = devices.reduce(0) { $0 + $1.receipted }
    let unserved = devices.count { !$0.isDone }
    var refusals: [String: Int] = [:]
    for device in devices { refusals.merge(device.refusals, uniquingKeysWith: +) }
    func at(_ share: Double) -> Double { durations.isEmpty ? 0 : durations[min(durations.count - 1, Int(share * Double(durations.count)))] }
    func text(_ value: Double) -> String { String(format: "%.3f", value) }
    let refused = refusals.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
    return Result(
      text: "{\"devices\":\(devices.count),\"events\":\(accepted),\"seconds\":\(text(seconds)),"
        + "\"events_a_second\":\(Int(Double(accepted) / seconds)),\"median\":\(text(at(0.5))),\"p99\":\(text(at(0.99))),"
        + "\"slowest\":\(text(durations.last ?? 0)),\"refused\":{\(refused)},\"unserved\":\(unserved)}", unserved: unserved)
  }
}

/// What answers the request for a code.
private struct CodeAnswer {
  let code: String

  init(json: [UInt8]) throws {
    let object = try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
    code = object?["code"] as? String ?? ""
  }
}
