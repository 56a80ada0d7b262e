import TidemarkLog
import TidemarkReplication
import TidemarkText

enum AttachCommand {
  static let description = CommandDescription(
    "attach", "store files and append one event that names them",
    arguments: [.log, .init("FILE", "a file; it is copied", isRepeatable: true)],
    options: [
      .init("type", "TYPE", "the type of the event (default attachment)"), .init("subject", "SUBJECT", "what the event is about"),
      .init("actor", "ACTOR", "who did it"),
      .init("media-type", "TYPE", "the media type of the files; left out, it follows from each file's name"), .onCorruption,
    ],
    notes: [
      "The files are in the log's directory, each under its SHA-256, and on the disk before the event is. The same content is stored once. "
        + "`replicate` sends them when nothing else waits; `status` shows which the server has not signed for yet.",
      "Prints {\"offset\":..,\"id\":..,\"attachments\":[..]}.",
    ],
    examples: [
      .init("tidemark attach captures gate.jpg lock.jpg seal.jpg --type audit --subject gate-7", "an audit with three photos"),
      .init("tidemark attach captures note.bin --media-type audio/ogg", "a file whose name does not tell"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let log = try Log.open(at: arguments.logPath, options: arguments.writingOptions())
    defer { try? log.close() }
    let store = AttachmentStore(log)
    try store.clean()
    let attachments = try arguments.repeatedArguments.map { path in
      try store.put(file: path, mediaType: arguments.value("media-type") ?? mediaType(of: path))
    }
    let event = NewEvent(
      type: arguments.value("type") ?? "attachment", subject: arguments.value("subject"), actor: arguments.value("actor"),
      extensions: attachments.map { .attachment($0) })
    let appended = try log.append(event)
    var json = JSONWriter()
    json.beginObject()
    json.member("offset", appended.offset)
    json.member("id", appended.id.description)
    json.attachments("attachments", event.extensions)
    json.endObject()
    output.line(json)
    return .success
  }

  private static func mediaType(of path: String) -> String {
    let name = path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: ".") else { return unknown }
    return mediaTypes[name[name.index(after: dot)...].lowercased()] ?? unknown
  }

  private static let unknown = "application/octet-stream"
  private static let mediaTypes = [
    "csv": "text/csv", "gif": "image/gif", "heic": "image/heic", "jpeg": "image/jpeg", "jpg": "image/jpeg", "json": "application/json",
    "m4a": "audio/mp4", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "ogg": "audio/ogg", "opus": "audio/ogg",
    "pdf": "application/pdf", "png": "image/png", "txt": "text/plain", "wav": "audio/wav", "webp": "image/webp", "zip": "application/zip",
  ]
}
