internal import TidemarkText

/// Why a request was refused, and what to do about it: a problem document (RFC 9457).
package struct Problem: Error, Sendable, Equatable {
  /// What kind of trouble it is.
  package enum Class: String, Sendable, CaseIterable {
    case retryable, auth, conflict, permanent, corrupt
  }
  /// What the device does.
  package enum Action: String, Sendable, CaseIterable {
    case retry, refresh
    case signIn = "sign-in"
    case stop, handshake, check, report, snapshot
  }
  /// What went wrong, as in `Specs/protocol.md`.
  package enum Code: String, Sendable, CaseIterable {
    case malformed
    case digestMismatch = "digest-mismatch"
    case unauthorized
    case refreshRefused = "refresh-refused"
    case revoked, suspended
    case notPermitted = "not-permitted"
    case notFound = "not-found"
    case method
    case notAcceptable = "not-acceptable"
    case timeout
    case unexpectedPosition = "unexpected-position"
    case superseded, forked, gone
    case lengthRequired = "length-required"
    case tooLarge = "too-large"
    case mediaType = "media-type"
    case refused
    case tooMany = "too-many"
    case headersTooLarge = "headers-too-large"
    case `internal`, storage, stopping
  }

  package let code: Code
  /// For people; nothing that the caller may not know.
  package let detail: String
  /// Seconds until it is worth trying again.
  package var retryAfter: UInt64?
  /// Where to begin anew; with ``Code/gone``.
  package var snapshot: String?
  /// The methods that are allowed; with ``Code/method``.
  package var allow: String?

  package init(_ code: Code, _ detail: String, retryAfter: UInt64? = nil, snapshot: String? = nil, allow: String? = nil) {
    self.code = code
    self.detail = detail
    self.retryAfter = retryAfter
    self.snapshot = snapshot
    self.allow = allow
  }

  private static let prefix = "urn:tidemark:problem:"

  private var row: (status: Int, title: String, class: Class, action: Action) {
    switch code {
    case .malformed: (400, "The request is malformed", .permanent, .report)
    case .digestMismatch: (400, "The bytes are not those that the digest is of", .corrupt, .check)
    case .unauthorized: (401, "There is no valid credential", .auth, .refresh)
    case .refreshRefused: (401, "The code or refresh token is not valid", .auth, .signIn)
    case .revoked: (403, "The device was removed", .auth, .stop)
    case .suspended: (403, "The device is suspended", .retryable, .retry)
    case .notPermitted: (403, "The credential does not permit this", .permanent, .report)
    case .notFound: (404, "There is no such thing", .permanent, .report)
    case .method: (405, "The method is not allowed here", .permanent, .report)
    case .notAcceptable: (406, "No acceptable form of the answer exists", .permanent, .report)
    case .timeout: (408, "The request took too long", .retryable, .retry)
    case .unexpectedPosition: (409, "The shipment does not continue what the server has", .conflict, .handshake)
    case .superseded: (409, "Another sender ships this history", .conflict, .handshake)
    case .forked: (409, "Two histories of one epoch differ", .conflict, .handshake)
    case .gone: (410, "The changes asked for are no longer kept", .conflict, .snapshot)
    case .lengthRequired: (411, "The request has no Content-Length", .permanent, .report)
    case .tooLarge: (413, "The request is too large", .permanent, .report)
    case .mediaType: (415, "The media type is not known here", .permanent, .report)
    case .refused: (422, "The request was understood and refused", .permanent, .report)
    case .tooMany: (429, "There were too many requests", .retryable, .retry)
    case .headersTooLarge: (431, "The header fields are too large", .permanent, .report)
    case .internal: (500, "The server failed", .retryable, .retry)
    case .storage: (503, "The server can't store anything at the moment", .retryable, .retry)
    case .stopping: (503, "The server is about to stop", .retryable, .retry)
    }
  }

  package var status: Int { row.status }
  package var problemClass: Class { row.class }
  package var action: Action { row.action }

  package var json: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("type", Self.prefix + code.rawValue)
    json.member("title", row.title)
    json.member("status", row.status)
    json.member("detail", detail)
    json.member("class", row.class.rawValue)
    json.member("action", row.action.rawValue)
    if let snapshot { json.member("snapshot", snapshot) }
    json.endObject()
    return json.bytes
  }

  /// As an answer.
  package var response: HTTPResponse {
    var response = HTTPResponse(status, body: json)
    response.fields["content-type"] = MediaType.problem
    if let retryAfter { response.fields["retry-after"] = String(retryAfter) }
    if let allow { response.fields["allow"] = allow }
    if code == .unauthorized { response.fields["www-authenticate"] = "Bearer" }
    return response
  }

  /// Reads an answer. Nil for what is no problem document of this form, or has another status than it says.
  package init?(_ response: HTTPResponse) {
    guard MediaType.matches(response.fields["content-type"], MediaType.problem),
      let object = try? JSONValue(response.body).object("the problem"),
      let type = try? object.string("type"), type.hasPrefix(Self.prefix),
      let code = Code(rawValue: String(type.dropFirst(Self.prefix.count)))
    else { return nil }
    self.init(
      code, (try? object.optionalString("detail", upTo: 4_096)) ?? "", retryAfter: response.fields["retry-after"].flatMap { UInt64($0) },
      snapshot: (try? object.optionalString("snapshot")) ?? nil, allow: response.fields["allow"])
    guard response.status == status else { return nil }
  }
}
