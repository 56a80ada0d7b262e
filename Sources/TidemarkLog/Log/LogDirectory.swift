/// The places in a log's directory.
struct LogDirectory: Sendable {
  let path: String

  var identity: String { path + "/identity" }
  var lock: String { path + "/lock" }
  var live: String { path + "/live" }
  var segments: String { path + "/segments" }
  var index: String { path + "/index" }
  var torn: String { path + "/torn" }
  /// What `TidemarkEvidence` keeps: a directory for each epoch.
  var evidence: String { path + "/evidence" }

  func segment(_ name: String) -> String { "\(segments)/\(name)" }

  /// A path in this directory as findings name it.
  func relative(_ file: String) -> String {
    file.hasPrefix(path + "/") ? String(file.dropFirst(path.count + 1)) : file
  }

  static let unfinished = ".tmp"
}
