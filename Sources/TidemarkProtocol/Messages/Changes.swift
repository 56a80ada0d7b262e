package import TidemarkLog
internal import TidemarkText

/// An answer with changes, or with all items as they are. What it holds of each is left as it came.
package struct ChangesAnswer: Sendable, Equatable {
  package var generation: EventID
  /// All that the caller may see up to here is in it, or was before.
  package var through: UInt64
  /// The tenant's last number when it was answered.
  package var last: UInt64
  /// Which items the caller gets besides those without a place; empty: none.
  package var place: String
  /// Likewise.
  package var person: String
  /// Each a JSON object.
  package var entries: [[UInt8]]

  /// Whether nothing was left for a next call.
  package var isComplete: Bool { through >= last }

  private static let pointers = ["/generation", "/through", "/last", "/place", "/person"].compactMap { try? JSONPointer($0) }

  /// Reads an answer of the server. Nil if it is not the server's, or malformed.
  ///
  /// - Parameter entries: `changes`, or `items` of a snapshot.
  package init?(answer response: HTTPResponse, entries name: String) {
    guard MediaType.matches(response.fields["content-type"], MediaType.answer), let list = try? JSONPointer("/\(name)") else { return nil }
    let body = response.body
    var scanner = JSONScanner(pointers: Self.pointers + [list])
    guard (try? scanner.scan(body.span)) != nil else { return nil }
    let found = scanner.found
    func number(_ index: Int) -> UInt64? { found[index].flatMap { UInt64(String(decoding: body[$0], as: UTF8.self)) } }
    func text(_ index: Int) -> String? {
      guard let range = found[index], body[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
      return try? JSONString.decode(body.span, range)
    }
    guard let generation = text(0).flatMap({ EventID($0) }), let through = number(1), let range = found[5],
      body[range.lowerBound] == UInt8(ascii: "[")
    else { return nil }
    self.generation = generation
    self.through = through
    last = number(2) ?? through
    place = text(3) ?? ""
    person = text(4) ?? ""
    var entries: [[UInt8]] = []
    let all: Void? = try? JSONScanner.forEachElement(of: range, in: body.span) { entries.append(Array(body[$0])) }
    guard all != nil else { return nil }
    self.entries = entries
  }
}
