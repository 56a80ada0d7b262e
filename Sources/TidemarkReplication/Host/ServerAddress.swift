internal import TidemarkLog

/// Where a server is: `https://name`, with a port or a path behind it if need be. Without TLS only on this machine.
///
/// ```swift
/// let server = try ServerAddress("https://tidemark.example")
/// ```
public struct ServerAddress: Sendable, Equatable, CustomStringConvertible {
  /// Without a slash at the end.
  public let description: String

  /// Throws `LogError.Code.invalidArgument` for what is no such address.
  ///
  /// - Parameters:
  ///   - text: begins with `https://`.
  ///   - allowsPlainText: whether `http://` may lead to another machine, over a network that is protected otherwise.
  public init(_ text: String, allowsPlainText: Bool = false) throws {
    var text = text
    while text.hasSuffix("/") { text.removeLast() }
    let isPlain = text.hasPrefix("http://")
    guard isPlain || text.hasPrefix("https://") else { throw Self.malformed(text, "it begins with neither https:// nor http://") }
    let rest = text.dropFirst(isPlain ? 7 : 8)
    let host = rest.prefix { $0 != "/" }
    guard !host.isEmpty, text.utf8.count <= 1_024, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !text.contains("?"),
      !text.contains("#"), !host.contains("@")
    else { throw Self.malformed(text, "it is not of the form https://name") }
    guard !isPlain || allowsPlainText || Self.isThisMachine(host) else {
      throw Self.malformed(text, "without TLS anybody on the way could read and change what is sent")
    }
    description = text
  }

  private static func isThisMachine(_ host: Substring) -> Bool {
    if host.hasPrefix("[::1]") { return true }
    let name = host.prefix { $0 != ":" }
    if name == "localhost" { return true }
    let numbers = name.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
  }

  private static func malformed(_ text: String, _ why: String) -> LogError {
    LogError(.invalidArgument, "\(text) is no server's address", why: why, advice: "give one like https://tidemark.example")
  }
}
