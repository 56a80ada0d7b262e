import TidemarkLog
import TidemarkText

/// Writes events in one of the output formats.
protocol EventFormatter: Sendable {
  /// What stands before the first event.
  func header(to output: inout [UInt8])
  mutating func append(_ event: borrowing EventView, _ session: Session?, to output: inout [UInt8]) throws
}

extension EventFormatter {
  func header(to output: inout [UInt8]) {}
}

/// The data of each event and a line feed, nothing else.
struct RawFormatter: EventFormatter {
  func append(_ event: borrowing EventView, _ session: Session?, to output: inout [UInt8]) {
    output.append(event.data.bytes)
    output.append(UInt8(ascii: "\n"))
  }
}

/// Comma-separated values: a header, then a row for each event. Lines end with a line feed. Data that is no text is base64 behind
/// `base64:`.
struct CSVFormatter: EventFormatter {
  func header(to output: inout [UInt8]) {
    output.append("offset,id,type,subject,actor,time,boot_id,elapsed_ns,datacontenttype,data\n")
  }

  func append(_ event: borrowing EventView, _ session: Session?, to output: inout [UInt8]) {
    let comma = UInt8(ascii: ",")
    output.append(String(event.offset))
    output.append(comma)
    output.append(event.id.description)
    output.append(comma)
    CSVWriter.field(event.typeBytes.bytes, to: &output)
    output.append(comma)
    CSVWriter.field(event.subjectBytes.bytes, to: &output)
    output.append(comma)
    CSVWriter.field(event.actorBytes.bytes, to: &output)
    output.append(comma)
    RFC3339.format(nanoseconds: event.time.nanoseconds, fractionDigits: event.timeFractionDigits, to: &output)
    output.append(comma)
    if let bootID = session?.bootID { output.append(bootID.description) }
    output.append(comma)
    output.append(String(event.elapsed))
    output.append(comma)
    CSVWriter.field(event.contentTypeBytes.bytes, to: &output)
    output.append(comma)
    let data = event.data.bytes
    if UTF8Check.firstInvalid(data) == nil {
      CSVWriter.field(data, to: &output)
    } else {
      output.append("base64:")
      Base64.encode(data, to: &output)
    }
    output.append(UInt8(ascii: "\n"))
  }
}

/// Columns for people. Long values are cut.
struct TableFormatter: EventFormatter {
  private static let columns: [(name: String, width: Int)] = [("offset", 10), ("time", 30), ("type", 16), ("subject", 24), ("data", 72)]

  func header(to output: inout [UInt8]) {
    let names = Self.columns.map { Self.cell($0.name, $0.width) }
    output.append(Self.trimmed(names.joined(separator: "  ")) + "\n")
  }

  func append(_ event: borrowing EventView, _ session: Session?, to output: inout [UInt8]) {
    let data = event.data.bytes
    var shown = UTF8Check.firstInvalid(data) == nil ? event.data.text() : "(\(data.count) bytes)"
    for case .attachment(let attachment) in (try? event.extensions) ?? [] { shown += (shown.isEmpty ? "+ " : " + ") + attachment.name }
    let time = RFC3339.format(nanoseconds: event.time.nanoseconds, fractionDigits: event.timeFractionDigits)
    let values = [String(event.offset), time, event.type, event.subject ?? "", shown]
    let cells = zip(values, Self.columns).map { Self.cell($0, $1.width) }
    output.append(Self.trimmed(cells.joined(separator: "  ")) + "\n")
  }

  /// Exactly `width` characters. Control characters would spoil the terminal.
  private static func cell(_ text: String, _ width: Int) -> String {
    let start = text.utf8.prefix(width + 1)
    if start.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) {
      // ASCII: bytes are characters.
      if start.count <= width { return text + String(repeating: " ", count: width - start.count) }
      return String(Substring(start.prefix(width - 1))) + "…"
    }
    var cell = ""
    var count = 0
    for character in text {
      if count == width {
        cell.removeLast()
        cell += "…"
        break
      }
      let isPlain = character.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
      cell.append(isPlain ? character : "·")
      count += 1
    }
    return cell + String(repeating: " ", count: width - count)
  }

  private static func trimmed(_ line: String) -> String {
    var line = Substring(line)
    while line.last == " " { line.removeLast() }
    return String(line)
  }
}
