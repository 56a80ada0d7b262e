/// Header fields, whose names differ in more than case.
///
/// ```swift
/// var fields = HTTPFields()
/// fields["content-type"] = "application/json"
/// ```
public struct HTTPFields: Sendable, Equatable {
  private var values: [String: String] = [:]

  /// None.
  public init() {}

  /// By name, in any case. Nil if there is none.
  public subscript(_ name: String) -> String? {
    get { values[name.lowercased()] }
    set { values[name.lowercased()] = newValue }
  }

  /// Names in lower case and values, in the order of names.
  public var all: [(name: String, value: String)] { values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
}

/// A request of HTTP, on either end.
public struct HTTPRequest: Sendable, Equatable {
  /// Such as `GET`.
  public var method: String
  /// With what follows a question mark: `/v1/changes?since=3`.
  public var target: String
  /// Header fields.
  public var fields: HTTPFields
  /// Empty if there is none.
  public var body: [UInt8]

  /// Describes a request.
  public init(_ method: String, _ target: String, fields: HTTPFields = HTTPFields(), body: [UInt8] = []) {
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
  }
}

/// An answer of HTTP, on either end.
public struct HTTPResponse: Sendable, Equatable {
  /// Such as 200.
  public var status: Int
  /// Header fields.
  public var fields: HTTPFields
  /// Empty if there is none.
  public var body: [UInt8]

  /// Describes an answer.
  public init(_ status: Int, fields: HTTPFields = HTTPFields(), body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

/// Media types of the protocol.
package enum MediaType {
  package static let answer = "application/vnd.tidemark+json"
  package static let json = "application/json"
  package static let problem = "application/problem+json"
  package static let shipment = "application/vnd.tidemark.shipment"
  package static let partialUpload = "application/partial-upload"
  package static let tusUpload = "application/offset+octet-stream"

  /// Whether a field's value names a media type, whatever parameters follow.
  package static func matches(_ field: String?, _ type: String) -> Bool {
    guard let name = field?.split(separator: ";", omittingEmptySubsequences: false).first else { return false }
    return name.filter { $0 != " " && $0 != "\t" }.lowercased() == type
  }
}
