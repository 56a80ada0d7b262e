import TidemarkEvidence
import TidemarkLog
import TidemarkText

/// One JSON object a line, keys in a fixed order; what an event does not have is left out.
struct JSONLinesFormatter: EventFormatter {
  private var json = JSONWriter()

  mutating func append(_ event: borrowing EventView, _ session: Session?, to output: inout [UInt8]) throws {
    json.removeAll()
    json.beginObject()
    json.member("offset", event.offset)
    if event.isControl { json.member("kind", Int(event.kind.rawValue)) }
    json.member("id", event.id.description)
    text("type", event.typeBytes.bytes)
    text("subject", event.subjectBytes.bytes)
    text("actor", event.actorBytes.bytes)
    json.time("time", event.time, event.timeFractionDigits)
    if let bootID = session?.bootID { json.member("boot_id", bootID.description) }
    json.member("elapsed_ns", event.elapsed)
    let extensions = try event.extensions
    for entry in extensions {
      switch entry {
      case .correlation(let id): json.member("correlation", id.description)
      case .causation(let id): json.member("causation", id.description)
      case .supersedes(let id): json.member("supersedes", id.description)
      default: break
      }
    }
    text("datacontenttype", event.contentTypeBytes.bytes)
    json.data(event)
    json.attachments("attachments", extensions)
    json.endObject()
    output.append(json.bytes.span)
    output.append(UInt8(ascii: "\n"))
  }

  private mutating func text(_ name: String, _ text: Span<UInt8>) {
    if text.isEmpty { return }
    json.name(name)
    json.string(text)
  }
}

extension JSONWriter {
  /// The files that an event names; nothing if it names none.
  mutating func attachments(_ name: String, _ extensions: [EventExtension]) {
    var isFirst = true
    for case .attachment(let attachment) in extensions {
      if isFirst {
        self.name(name)
        beginArray()
      }
      isFirst = false
      beginObject()
      member("name", attachment.name)
      member("media_type", attachment.mediaType)
      member("length", attachment.byteCount)
      member("sha256", attachment.digest.hexadecimal)
      endObject()
    }
    if !isFirst { endArray() }
  }

  mutating func time(_ name: String, _ time: Timestamp, _ fractionDigits: Int) {
    self.name(name)
    var text: [UInt8] = []
    RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: fractionDigits, to: &text)
    string(text.span)
  }

  /// JSON as it is, other text as a string, everything else as base64 under another name. Nothing for no data.
  mutating func data(_ event: borrowing EventView) {
    let data = event.data.bytes
    if data.isEmpty { return }
    if ContentType.isJSON(event.contentTypeBytes.bytes), JSONScanner.isValid(data) {
      name("data")
      value(data)
    } else if UTF8Check.firstInvalid(data) == nil {
      name("data")
      string(data)
    } else {
      name("data_base64")
      base64(data)
    }
  }
}
