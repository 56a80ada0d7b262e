internal import TidemarkLog
internal import TidemarkProtocol

/// A request's target, taken apart. Ids, names and numbers are all that it carries, so nothing in it is ever percent-encoded.
struct Target {
  /// Between the slashes.
  let path: [String]
  private let query: [String: String]

  init(_ text: String) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = parts[0].split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    var query: [String: String] = [:]
    for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      query[String(sides[0])] = sides.count > 1 ? String(sides[1]) : ""
    }
    self.query = query
  }

  subscript(_ name: String) -> String? { query[name] }

  /// Throws `Problem.Code.malformed` for what is no number.
  func number(_ name: String, default value: UInt64, in range: ClosedRange<UInt64> = 0...UInt64(Int64.max)) throws -> UInt64 {
    guard let text = query[name] else { return value }
    guard let number = UInt64(text), range.contains(number) else {
      throw Problem(.malformed, "\"\(name)\" is no number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// The log and epoch of `v1/logs/{log}/epochs/{epoch}`; nil for another path.
  var epoch: (log: EventID, epoch: EventID)? {
    guard path.count >= 5, path[0] == "v1", path[1] == "logs", path[3] == "epochs", let log = Self.id(path[2]), let epoch = Self.id(path[4])
    else { return nil }
    return (log, epoch)
  }

  /// 32 lower-case hexadecimal digits: an id has one form in a path.
  static func id(_ text: String) -> EventID? {
    guard text.utf8.count == 32, let id = EventID(text), id.hexadecimal == text else { return nil }
    return id
  }
}
