import TidemarkEvidence
import TidemarkLog
import TidemarkReplication
import TidemarkText

/// Where the tool keeps what makes a log's directory a device: credentials, and the certificates that were named when it was enrolled.
struct DevicePlace {
  let store: FileCredentialStore
  private let authorities: String
  private let receivedPath: String

  init(_ logPath: String) {
    let folder = "\(logPath)/replication"
    store = FileCredentialStore(at: "\(folder)/credentials")
    authorities = "\(folder)/authorities.pem"
    receivedPath = "\(folder)/received"
  }

  var transport: CurlTransport {
    get throws { CurlTransport(authorities: try POSIXFileSystem().status(authorities) == nil ? nil : authorities) }
  }

  /// The log of what the server has for this device, open for writing; made if it is not there. Nil before it is enrolled.
  func openReceived(_ options: LogOptions) throws -> Log? {
    guard try store.load()?.grant != nil else { return nil }
    return try Replicator.openReceived(at: receivedPath, options: options)
  }

  /// Open for reading; nil if nothing was received yet.
  func readReceived() throws -> Log? {
    try POSIXFileSystem().status(receivedPath) == nil ? nil : Log.openForReading(at: receivedPath)
  }

  /// Keeps a copy of a file of certificates; without one the system's count.
  func keepAuthorities(_ path: String?) throws {
    let files = POSIXFileSystem()
    guard let path else {
      if try files.status(authorities) != nil { try files.remove(authorities) }
      return
    }
    let bytes = try System.readFile(path, upTo: 4 << 20)
    let folder = files.directory(of: authorities)
    if try files.status(folder) == nil { try files.makeDirectory(folder) }
    try files.replace(authorities, with: bytes)
  }
}

extension Status {
  /// One line for people.
  var line: String {
    var text = "\(state.rawValue): saved below \(saved), accepted below \(accepted), settled below \(settled)"
    if let attachments, attachments.pending > 0 {
      text += "; \(attachments.pending) files to send (\(attachments.state.rawValue)"
      if let trouble = attachments.trouble { text += ": \(trouble.detail)" }
      text += ")"
    }
    if let trouble, state != .idle { text += "; \(trouble.category.rawValue): \(trouble.detail)" }
    if let time = nextAttempt { text += "; again at \(RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: 0))" }
    return text
  }

  func write(to json: inout JSONWriter) {
    json.member("log_id", log.hexadecimal)
    json.member("state", state.rawValue)
    if let wayOut = state.wayOut { json.member("way_out", wayOut) }
    json.member("saved", saved)
    json.member("accepted", accepted)
    json.member("settled", settled)
    json.member("trimmable", trimmable)
    json.member("duplicates", duplicateCount)
    json.member("quarantined", quarantinedCount)
    if let attachments {
      json.name("attachments")
      json.beginObject()
      json.member("complete", attachments.complete)
      if attachments.state != .stopped {
        json.member("state", attachments.state.rawValue)
        json.member("unaccepted", attachments.pending)
        json.member("set_aside", attachments.setAside)
        if let trouble = attachments.trouble { json.member("trouble", trouble.detail) }
      }
      json.endObject()
    }
    json.member("attempts", attempts)
    if let trouble {
      json.name("trouble")
      json.beginObject()
      json.member("category", trouble.category.rawValue)
      json.member("detail", trouble.detail)
      json.endObject()
    }
    if let time = nextAttempt { json.member("next_attempt", RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: 3)) }
  }
}
