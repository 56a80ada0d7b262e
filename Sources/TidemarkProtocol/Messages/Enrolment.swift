package import TidemarkEvidence
package import TidemarkLog
package import TidemarkText

/// `POST /v1/enrol`.
package struct Enrolment: Message {
  package static let what = "the enrolment"
  package var code: String
  /// The device's Ed25519 key.
  package var publicKey: [UInt8]
  /// What people call the device.
  package var name: String?
  /// The key's signature over ``signatureMessage(of:)``: for a key that is enrolled already.
  package var signature: [UInt8]?

  package init(code: String, publicKey: [UInt8], name: String? = nil, signature: [UInt8]? = nil) {
    self.code = code
    self.publicKey = publicKey
    self.name = name
    self.signature = signature
  }

  /// What a device signs to show that an enrolled key is its own.
  package static func signatureMessage(of code: String) -> [UInt8] { Array("tidemark enrolment v1\n\(code)\n".utf8) }

  package init(_ object: JSONObject) throws(TextError) {
    self.init(
      code: try object.string("code", upTo: 128), publicKey: try object.base64("public_key", byteCount: 32),
      name: try object.optionalLabel("name"),
      signature: object["signature"] == nil ? nil : try object.base64("signature", byteCount: 64))
  }

  package func write(to json: inout JSONWriter) {
    json.member("code", code)
    json.member("public_key", base64: publicKey)
    if let name { json.member("name", name) }
    if let signature { json.member("signature", base64: signature) }
  }
}

/// What answers an ``Enrolment``.
package struct EnrolmentAnswer: Message {
  package static let what = "the answer to an enrolment"
  package var device: EventID
  package var tenant: String
  package var refreshToken: String
  /// Whose receipts count.
  package var serverKey: VerifierKey
  package var generation: EventID

  package init(device: EventID, tenant: String, refreshToken: String, serverKey: VerifierKey, generation: EventID) {
    self.device = device
    self.tenant = tenant
    self.refreshToken = refreshToken
    self.serverKey = serverKey
    self.generation = generation
  }

  package init(_ object: JSONObject) throws(TextError) {
    self.init(
      device: try object.id("device"), tenant: try object.string("tenant", upTo: 255),
      refreshToken: try object.string("refresh_token", upTo: 255), serverKey: try object.key("server_key"),
      generation: try object.id("generation"))
  }

  package func write(to json: inout JSONWriter) {
    json.member("device", device)
    json.member("tenant", tenant)
    json.member("refresh_token", refreshToken)
    json.member("server_key", serverKey.description)
    json.member("generation", generation)
  }
}

/// `POST /v1/token`.
package struct TokenRequest: Message {
  package static let what = "the request for a token"
  package var refreshToken: String

  package init(refreshToken: String) { self.refreshToken = refreshToken }

  package init(_ object: JSONObject) throws(TextError) { self.init(refreshToken: try object.string("refresh_token", upTo: 255)) }

  package func write(to json: inout JSONWriter) { json.member("refresh_token", refreshToken) }
}

/// What answers a ``TokenRequest``.
package struct TokenAnswer: Message {
  package static let what = "the answer to a request for a token"
  package var accessToken: String
  /// Seconds.
  package var expiresIn: UInt64
  package var refreshToken: String

  package init(accessToken: String, expiresIn: UInt64, refreshToken: String) {
    self.accessToken = accessToken
    self.expiresIn = expiresIn
    self.refreshToken = refreshToken
  }

  package init(_ object: JSONObject) throws(TextError) {
    self.init(
      accessToken: try object.string("access_token", upTo: 255), expiresIn: try object.number("expires_in", in: 1...86_400),
      refreshToken: try object.string("refresh_token", upTo: 255))
  }

  package func write(to json: inout JSONWriter) {
    json.member("access_token", accessToken)
    json.member("expires_in", expiresIn)
    json.member("refresh_token", refreshToken)
  }
}
