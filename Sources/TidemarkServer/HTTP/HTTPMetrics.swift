internal import TidemarkLog

/// Counts of requests, bytes and connections since the start, for Prometheus.
package final class HTTPMetrics: Sendable {
  private struct Key: Hashable {
    var route: HTTPRoute
    var method: String
    var status: Int
  }
  private struct Time {
    var seconds = 0.0
    var count: UInt64 = 0
  }
  private struct State {
    var requests: [Key: UInt64] = [:]
    var times: [HTTPRoute: Time] = [:]
    var received: UInt64 = 0
    var sent: UInt64 = 0
    var inFlight = 0
    var streams = 0
    var connections = 0
    var accepted: UInt64 = 0
    var cut: UInt64 = 0
  }
  private let state = Locked(State())

  package init() {}

  /// The methods that are counted by name; others are `other`, or a caller could make counters without end.
  private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

  func began() { state.withLock { $0.inFlight += 1 } }

  func ended(_ record: RequestRecord) {
    let method = Self.methods.contains(record.method) ? record.method : "other"
    state.withLock { state in
      state.inFlight -= 1
      state.requests[Key(route: record.route, method: method, status: record.status), default: 0] += 1
      state.times[record.route, default: Time()].seconds += record.seconds
      state.times[record.route, default: Time()].count += 1
      state.received += record.received
      state.sent += record.sent
    }
  }

  func connected() {
    state.withLock {
      $0.connections += 1
      $0.accepted += 1
    }
  }

  func disconnected() { state.withLock { $0.connections -= 1 } }
  func streaming(_ difference: Int) { state.withLock { $0.streams += difference } }
  func cut() { state.withLock { $0.cut += 1 } }

  /// In Prometheus's text format, version 0.0.4. Status 0 counts requests whose connection ended before an answer was sent.
  package var text: String {
    let state = state.withLock { $0 }
    var lines: [String] = []
    func family(_ name: String, _ kind: String, _ help: String, _ samples: [(labels: String, value: String)]) {
      lines.append("# HELP tidemark_http_\(name) \(help)")
      lines.append("# TYPE tidemark_http_\(name) \(kind)")
      for sample in samples { lines.append("tidemark_http_\(name)\(sample.labels) \(sample.value)") }
    }
    let requests = state.requests.map { key, count in
      (labels: "{route=\"\(key.route.rawValue)\",method=\"\(key.method)\",status=\"\(key.status)\"}", value: "\(count)")
    }
    family("requests_total", "counter", "Requests that ended.", requests.sorted { $0.labels < $1.labels })
    lines.append("# HELP tidemark_http_request_seconds Time from the request line to the end of the answer.")
    lines.append("# TYPE tidemark_http_request_seconds summary")
    for (route, time) in state.times.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      lines.append("tidemark_http_request_seconds_sum{route=\"\(route.rawValue)\"} \(time.seconds)")
      lines.append("tidemark_http_request_seconds_count{route=\"\(route.rawValue)\"} \(time.count)")
    }
    family("received_bytes_total", "counter", "Bytes of bodies received.", [("", "\(state.received)")])
    family("sent_bytes_total", "counter", "Bytes of bodies sent.", [("", "\(state.sent)")])
    family("requests_in_flight", "gauge", "Requests that have not ended.", [("", "\(state.inFlight)")])
    family("streams", "gauge", "Open streams of server-sent events.", [("", "\(state.streams)")])
    family("connections", "gauge", "Open connections.", [("", "\(state.connections)")])
    family("connections_total", "counter", "Connections that were accepted.", [("", "\(state.accepted)")])
    family("connections_cut_total", "counter", "Connections that were ended because they were too slow.", [("", "\(state.cut)")])
    return lines.joined(separator: "\n") + "\n"
  }
}
