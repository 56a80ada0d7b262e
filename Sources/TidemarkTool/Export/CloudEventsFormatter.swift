import TidemarkLog
import TidemarkText

/// CloudEvents 1.0 in JSON, structured mode, one event a line.
struct CloudEventsFormatter: EventFormatter {
  private var json = JSONWriter()
  private let ownSource: String

  init(logID: EventID) {
    ownSource = "urn:uuid:\(logID)"
  }

  mutating func append(_ event: borrowing EventView, _ session: Session?, to output: inout [UInt8]) throws {
    let extensions = try event.extensions
    var attributes: [(name: String, value: String)] = []
    var id = event.id.description
    var source = ownSource
    for entry in extensions {
      switch entry {
      case .correlation(let id): attributes.append(("correlationid", id.description))
      case .causation(let id): attributes.append(("causationid", id.description))
      case .supersedes(let id): attributes.append(("supersedes", id.description))
      case .attribute("id", let value): id = value
      case .attribute("source", let value): source = value
      case .attribute("offset", _): break
      case .attribute(let name, let value): attributes.append((name, value))
      default: break
      }
    }
    json.removeAll()
    json.beginObject()
    json.member("specversion", "1.0")
    json.member("id", id)
    json.member("source", source)
    json.member("type", event.type)
    if let subject = event.subject { json.member("subject", subject) }
    json.time("time", event.time, event.timeFractionDigits)
    if let contentType = event.contentType { json.member("datacontenttype", contentType) }
    if let actor = event.actor { json.member("actor", actor) }
    for attribute in attributes { json.member(attribute.name, attribute.value) }
    json.member("offset", event.offset)
    data(event)
    json.endObject()
    output.append(json.bytes.span)
    output.append(UInt8(ascii: "\n"))
  }

  /// Text without a content type would be taken for JSON, so it goes as base64.
  private mutating func data(_ event: borrowing EventView) {
    let data = event.data.bytes
    if data.isEmpty || !event.contentTypeBytes.bytes.isEmpty {
      json.dataForCloudEvents(event)
    } else {
      json.name("data_base64")
      json.base64(data)
    }
  }
}

extension JSONWriter {
  /// JSON that is declared but invalid can't be told from a JSON string here, so it goes as base64.
  fileprivate mutating func dataForCloudEvents(_ event: borrowing EventView) {
    let data = event.data.bytes
    if !data.isEmpty, ContentType.isJSON(event.contentTypeBytes.bytes), !JSONScanner.isValid(data) {
      name("data_base64")
      base64(data)
    } else {
      self.data(event)
    }
  }
}
