internal import TidemarkLog
internal import TidemarkText

/// Reads the fields of a definition from events. The data is scanned once for all of them.
struct FieldReader: Sendable {
  /// What stands in one place of an event.
  enum Found: Equatable {
    /// Nothing, or null.
    case absent
    case string(String)
    /// A number, or true or false, as it is spelled.
    case word(String)
    /// An object or an array, as it is spelled.
    case nested(String)

    /// As a part of a key, or as a value to keep.
    var text: String? {
      switch self {
      case .absent: nil
      case .string(let text), .word(let text), .nested(let text): text
      }
    }
  }

  private let fields: [EventField]
  /// For each field its pointer's place in the scanner, if it has one.
  private let places: [Int?]
  private let scanner: Locked<JSONScanner>
  private let scans: Bool

  init(_ fields: [EventField]) {
    self.fields = fields
    var pointers: [JSONPointer] = []
    var places: [Int?] = []
    for field in fields {
      guard case .data(let text) = field, let pointer = try? JSONPointer(text) else {
        places.append(nil)
        continue
      }
      places.append(pointers.count)
      pointers.append(pointer)
    }
    self.places = places
    scans = !pointers.isEmpty
    scanner = Locked(JSONScanner(pointers: pointers))
  }

  /// One answer for each field, in their order. Throws if the data has to be looked at and is no JSON.
  func read(_ event: EventView) throws(UnreadableEvent) -> [Found] {
    guard scans else { return fields.map { Self.attribute($0, event) } }
    return try scanner.withLock { (scanner) throws(UnreadableEvent) in
      let bytes = event.data.bytes
      do throws(TextError) { _ = try scanner.scan(bytes) } catch {
        throw UnreadableEvent("the data is no JSON: byte \(error.position): \(error.why)")
      }
      var found: [Found] = []
      found.reserveCapacity(fields.count)
      for index in fields.indices {
        guard let place = places[index] else {
          found.append(Self.attribute(fields[index], event))
          continue
        }
        do throws(TextError) { found.append(try Self.value(scanner.found[place], bytes)) } catch {
          throw UnreadableEvent("\(fields[index].text): \(error.why)")
        }
      }
      return found
    }
  }

  private static func attribute(_ field: EventField, _ event: EventView) -> Found {
    switch field {
    case .type: .string(event.type)
    case .subject: event.subject.map(Found.string) ?? .absent
    case .actor: event.actor.map(Found.string) ?? .absent
    case .data: .absent
    }
  }

  private static func value(_ range: Range<Int>?, _ bytes: Span<UInt8>) throws(TextError) -> Found {
    guard let range else { return .absent }
    switch bytes[range.lowerBound] {
    case UInt8(ascii: "n"): return .absent
    case UInt8(ascii: "\""): return .string(try JSONString.decode(bytes, range))
    case UInt8(ascii: "{"), UInt8(ascii: "["): return .nested(text(bytes, range))
    default: return .word(text(bytes, range))
    }
  }

  private static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
    var copy: [UInt8] = []
    copy.reserveCapacity(range.count)
    for index in range { copy.append(bytes[index]) }
    return String(decoding: copy, as: UTF8.self)
  }
}
