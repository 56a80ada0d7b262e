package import TidemarkEvidence
package import TidemarkLog
package import TidemarkText

/// `POST /v1/attachments`: a file that a device has.
package struct AttachmentOffer: Message {
  package static let what = "the offer of an attachment"
  package var digest: Digest256
  package var byteCount: UInt64

  package init(digest: Digest256, byteCount: UInt64) {
    self.digest = digest
    self.byteCount = byteCount
  }

  package init(_ object: JSONObject) throws(TextError) {
    self.init(digest: try object.digest("digest"), byteCount: try object.offset("length"))
  }

  package func write(to json: inout JSONWriter) {
    json.member("digest", digest)
    json.member("length", byteCount)
  }
}

/// What a server has of a file.
package struct AttachmentAnswer: Message {
  package static let what = "the answer about an attachment"
  package var digest: Digest256
  package var byteCount: UInt64
  package var state: State

  package enum State: Sendable, Equatable {
    /// All of it, which it signs for: see ``message(tenant:digest:byteCount:)``.
    case complete(signature: [UInt8])
    /// So many bytes, and where more can be sent.
    case open(upload: EventID, offset: UInt64)
  }

  package init(digest: Digest256, byteCount: UInt64, state: State) {
    self.digest = digest
    self.byteCount = byteCount
    self.state = state
  }

  package var isComplete: Bool { if case .complete = state { true } else { false } }

  /// What a server signs once it has a file.
  package static func message(tenant: String, digest: Digest256, byteCount: UInt64) -> [UInt8] {
    Array("tidemark attachment v1\n\(tenant)\n\(digest.hexadecimal)\n\(byteCount)\n".utf8)
  }

  /// Whether it is a receipt: the server has all of the file, and its signature verifies.
  package func isReceipt(by key: VerifierKey, tenant: String) -> Bool {
    guard case .complete(let signature) = state else { return false }
    return key.isValid(signature, of: Self.message(tenant: tenant, digest: digest, byteCount: byteCount))
  }

  package init(_ object: JSONObject) throws(TextError) {
    let isComplete = try object.bool("complete")
    self.init(
      digest: try object.digest("digest"), byteCount: try object.offset("length"),
      state: isComplete
        ? .complete(signature: try object.base64("signature", byteCount: 64))
        : .open(upload: try object.id("upload"), offset: try object.offset("offset")))
    if case .open(_, let offset) = state, offset > byteCount { throw object.wrong("offset", "is above \"length\"") }
  }

  package func write(to json: inout JSONWriter) {
    json.member("digest", digest)
    json.member("length", byteCount)
    switch state {
    case .complete(let signature):
      json.member("complete", true)
      json.member("signature", base64: signature)
    case .open(let upload, let offset):
      json.member("complete", false)
      json.member("upload", upload)
      json.member("offset", offset)
    }
  }
}
