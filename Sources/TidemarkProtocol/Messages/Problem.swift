internal import TidemarkLog
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
    /// Of an upload; a registered type.
    case mismatchingOffset = "mismatching-upload-offset"
    /// Of an upload; a registered type.
    case inconsistentLength = "inconsistent-upload-length"
    case preconditionFailed = "precondition-failed"
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
  /// Where an upload stands, and what was said instead; with ``Code/mismatchingOffset``.
  package var offsets: (expected: UInt64, provided: UInt64)?

  package init(
    _ code: Code, _ detail: String, retryAfter: UInt64? = nil, snapshot: String? = nil, allow: String? = nil,
    offsets: (expected: UInt64, provided: UInt64)? = nil
  ) {
    self.code = code
    self.detail = detail
    self.retryAfter = retryAfter
    self.snapshot = snapshot
    self.allow = allow
    self.offsets = offsets
  }

  private static let prefix = "urn:tidemark:problem:"
  private static let registeredPrefix = "https://iana.org/assignments/http-problem-types#"

  private static func type(_ code: Code) -> String {
    let isRegistered = code == .mismatchingOffset || code == .inconsistentLength
    return (isRegistered ? registeredPrefix : prefix) + code.rawValue
  }

  package static func == (left: Problem, right: Problem) -> Bool { left.response == right.response }

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
    case .mismatchingOffset: (409, "The upload stands at another offset", .conflict, .handshake)
    case .inconsistentLength: (400, "The length of the upload is another one", .permanent, .report)
    case .preconditionFailed: (412, "That version is not known here", .permanent, .report)
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
    json.member("type", Self.type(code))
    json.member("title", row.title)
    json.member("status", row.status)
    json.member("detail", detail)
    json.member("class", row.class.rawValue)
    json.member("action", row.action.rawValue)
    if let snapshot { json.member("snapshot", snapshot) }
    if let offsets {
      json.member("expected-offset", offsets.expected)
      json.member("provided-offset", offsets.provided)
    }
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
    if let offsets {
      response.fields[UploadField.offset] = String(offsets.expected)
      response.fields[UploadField.complete] = UploadField.no
    }
    return response
  }

  /// Reads an answer. Nil for what is no problem document of this form, or has another status than it says.
  package init?(_ response: HTTPResponse) {
    guard MediaType.matches(response.fields["content-type"], MediaType.problem),
      let object = try? JSONValue(response.body).object("the problem"),
      let type = try? object.string("type"), let code = Code.allCases.first(where: { Self.type($0) == type })
    else { return nil }
    let range = 0...Record.offsetLimit
    let expected = (try? object.optionalNumber("expected-offset", in: range)) ?? nil
    let provided = (try? object.optionalNumber("provided-offset", in: range)) ?? nil
    self.init(
      code, (try? object.optionalString("detail", upTo: 4_096)) ?? "", retryAfter: response.fields["retry-after"].flatMap { UInt64($0) },
      snapshot: (try? object.optionalString("snapshot")) ?? nil, allow: response.fields["allow"],
      offsets: expected.flatMap { expected in provided.map { (expected, $0) } })
    guard response.status == status else { return nil }
  }
}
