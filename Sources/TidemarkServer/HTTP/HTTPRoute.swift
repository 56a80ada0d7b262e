/// The kinds of calls, for metrics and the request log: few, whatever is asked for.
package enum HTTPRoute: String, Sendable, CaseIterable {
  case enrol, token, handshake, frames, root, changes, stream, snapshot, attachments, uploads, status, healthz, readyz, metrics, openapi
  case admin, other

  /// - Parameter target: of a request, such as `/v1/changes?since=3`.
  package init(target: String) {
    let path = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    self =
      switch (parts.count, parts.first, parts.dropFirst().first) {
      case (1, "healthz", _): .healthz
      case (1, "readyz", _): .readyz
      case (1, "metrics", _): .metrics
      case (1, "openapi.json", _): .openapi
      case (3..., "v1", "admin"): .admin
      case (2, "v1", "enrol"): .enrol
      case (2, "v1", "token"): .token
      case (2, "v1", "status"): .status
      case (2, "v1", "changes"): .changes
      case (3, "v1", "changes"): parts[2] == "stream" ? .stream : parts[2] == "snapshot" ? .snapshot : .other
      case (2...3, "v1", "attachments"): .attachments
      case (3, "v1", "uploads"): .uploads
      case (5, "v1", "logs"): parts[3] == "epochs" ? .handshake : .other
      case (6, "v1", "logs"): parts[5] == "frames" ? .frames : parts[5] == "root" ? .root : .other
      default: .other
      }
  }
}
