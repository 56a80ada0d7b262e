import TidemarkLog
import TidemarkText

/// Makes events of input, one at a time.
protocol EventReader {
  /// The next event, or nil at the end. Throws ``InputError`` at malformed input.
  mutating func next() throws -> NewEvent?
  /// The line on which the event that came last starts, from 1.
  var lineNumber: Int { get }
  /// Bytes of the input that are done with.
  var consumedByteCount: UInt64 { get }
}

/// A file or standard input.
final class FileSource: ByteSource {
  let name: String
  /// Nil for pipes.
  let byteCount: UInt64?
  private let descriptor: Int32

  /// No path, or `-`, is standard input.
  init(_ path: String?) throws {
    if let path, path != "-" {
      name = path
      descriptor = try System.openForReading(path)
    } else {
      name = "standard input"
      descriptor = System.standardInput
    }
    byteCount = System.byteCount(descriptor)
  }

  func read(into buffer: inout [UInt8], at index: Int) throws -> Int {
    try System.readInput(descriptor, into: &buffer, at: index, path: name)
  }
}

/// Where the attributes of events come from: fixed text, or places in the input.
struct AttributeSources {
  var type = "event"
  var typeFrom: JSONPointer?
  var idFrom: JSONPointer?
  var subjectFrom: JSONPointer?
  var actorFrom: JSONPointer?
  var timeFrom: JSONPointer?

  static let optionNames = ["type", "type-from", "id-from", "subject-from", "actor-from", "time-from"]

  init(_ arguments: ParsedArguments) throws {
    if let type = arguments.value("type") {
      guard (1...255).contains(type.utf8.count) else { throw arguments.error("--type \(type)", why: "a type takes 1 to 255 bytes") }
      self.type = type
    }
    func pointer(_ name: String) throws -> JSONPointer? {
      guard let text = arguments.value(name) else { return nil }
      do { return try JSONPointer(text) } catch { throw arguments.error("--\(name) \(text)", why: error.why) }
    }
    typeFrom = try pointer("type-from")
    idFrom = try pointer("id-from")
    subjectFrom = try pointer("subject-from")
    actorFrom = try pointer("actor-from")
    timeFrom = try pointer("time-from")
  }
}

/// The rules for attribute values, whatever format they come from. Positions are those in the text that was looked at.
enum AttributeRules {
  static func check(_ name: String, _ text: String, limit: Int, at position: Int) throws(TextError) -> String? {
    guard text.utf8.count <= limit else {
      throw TextError(at: position, "the \(name) takes \(text.utf8.count) bytes, the limit is \(limit)")
    }
    return text.isEmpty ? nil : text
  }

  /// A UUID stands for itself. Other text gives the same id each time.
  static func id(_ text: String, at position: Int) throws(TextError) -> EventID {
    guard !text.isEmpty else { throw TextError(at: position, "the id is empty") }
    return EventID(text) ?? EventID(derivedFrom: text)
  }

  static func time(_ text: Span<UInt8>, at position: Int) throws(TextError) -> RFC3339 {
    do {
      return try RFC3339(text)
    } catch {
      switch error {
      case .malformed(let error): throw TextError(at: position + error.position, error.why)
      case .outOfRange: throw TextError(at: position, "the time is out of range: years 1677 to 2262 can be kept")
      }
    }
  }
}

extension NewEvent {
  mutating func set(_ time: RFC3339) {
    self.time = Timestamp(nanoseconds: time.nanoseconds)
    timeFractionDigits = time.fractionDigits
    utcOffsetMinutes = time.offsetMinutes
  }
}
