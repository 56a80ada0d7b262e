package import TidemarkEvidence
package import TidemarkLog
package import TidemarkText

/// A JSON message of the protocol.
package protocol Message: Sendable, Equatable {
  /// For errors, such as "the handshake".
  static var what: String { get }
  /// Throws for a member that is missing or of another kind.
  init(_ object: JSONObject) throws(TextError)
  /// Writes the members into an object that was begun.
  func write(to json: inout JSONWriter)
}

extension Message {
  /// Reads a body. Throws `LogError.Code.invalidText`.
  package init(json bytes: [UInt8]) throws(LogError) {
    do throws(TextError) { try self.init(try JSONValue(bytes).object(Self.what)) } catch {
      throw LogError(
        .invalidText, "\(Self.what) can't be read", position: UInt64(error.position), why: error.why,
        advice: "see Specs/protocol.md for its members")
    }
  }

  /// As it is sent.
  package var json: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    write(to: &json)
    json.endObject()
    return json.bytes
  }

  /// As an answer of the server.
  package func response(_ status: Int = 200) -> HTTPResponse {
    var response = HTTPResponse(status, body: json)
    response.fields["content-type"] = MediaType.answer
    return response
  }

  /// Reads an answer of the server. Nil if its media type is another one, or it is malformed: then it is not the server's.
  package init?(answer response: HTTPResponse) {
    guard MediaType.matches(response.fields["content-type"], MediaType.answer), let message = try? Self(json: response.body) else {
      return nil
    }
    self = message
  }
}

extension JSONObject {
  /// 32 hexadecimal digits, or a UUID.
  package func id(_ name: String) throws(TextError) -> EventID {
    guard let id = EventID(try string(name, upTo: 36)) else { throw wrong(name, "is no id") }
    return id
  }

  package func digest(_ name: String) throws(TextError) -> Digest256 {
    guard let digest = Digest256(try base64(name, byteCount: 32)) else { throw wrong(name, "is no digest") }
    return digest
  }

  package func offset(_ name: String) throws(TextError) -> Offset { try number(name, in: 0...Record.offsetLimit) }

  package func key(_ name: String) throws(TextError) -> VerifierKey {
    guard let key = try? VerifierKey(string(name)) else { throw wrong(name, "is no verifier key") }
    return key
  }

  package func time(_ name: String) throws(TextError) -> Timestamp {
    guard let time = try? RFC3339(string(name, upTo: 64)) else { throw wrong(name, "is no time") }
    return Timestamp(nanoseconds: time.nanoseconds)
  }

  /// What people call something, of so many characters at most.
  package func optionalLabel(_ name: String, upTo limit: Int = 255) throws(TextError) -> String? {
    guard let text = try optionalString(name, upTo: 4 * limit) else { return nil }
    guard text.unicodeScalars.count <= limit else { throw wrong(name, "has more than \(limit) characters") }
    return text
  }

  package func optionalNote(_ name: String) throws(TextError) -> SignedNote? {
    guard self[name] != nil else { return nil }
    guard let note = try? SignedNote(Array(string(name, upTo: 60_000).utf8)) else { throw wrong(name, "is no signed note") }
    return note
  }
}

extension JSONWriter {
  package mutating func member(_ name: String, _ id: EventID) { member(name, id.hexadecimal) }
  package mutating func member(_ name: String, _ digest: Digest256) { member(name, base64: digest.bytes) }
  package mutating func member(_ name: String, base64 bytes: [UInt8]) {
    self.name(name)
    base64(bytes.span)
  }
  package mutating func member(_ name: String, _ time: Timestamp) {
    member(name, RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: 9))
  }
  package mutating func null(_ name: String) {
    self.name(name)
    value("null".utf8Span.span)
  }
}
