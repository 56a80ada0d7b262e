internal import TidemarkEvidence
internal import TidemarkText

/// The field `Content-Digest` (RFC 9530) with SHA-256.
package enum ContentDigestField {
  package static let name = "content-digest"

  /// Its value for a body.
  package static func value(of body: [UInt8]) -> String {
    var text: [UInt8] = []
    Base64.encode(SHA256().hash(body).bytes.span, to: &text)
    return "sha-256=:\(String(decoding: text, as: UTF8.self)):"
  }

  /// Nil if the value names no SHA-256; otherwise whether it is that of the body.
  package static func matches(_ value: String, _ body: [UInt8]) -> Bool? {
    let items = value.split(separator: ",").map { $0.trimmingBlanks }
    guard let item = items.last(where: { $0.lowercased().hasPrefix("sha-256=") }) else { return nil }
    return item.dropFirst("sha-256=".count) == self.value(of: body).dropFirst("sha-256=".count)
  }
}

extension HTTPRequest {
  /// With a body, its media type and its digest.
  package init(_ method: String, _ target: String, _ mediaType: String, _ body: [UInt8]) {
    self.init(method, target, body: body)
    fields["content-type"] = mediaType
    fields[ContentDigestField.name] = ContentDigestField.value(of: body)
  }
}

extension Substring {
  /// Without blanks and tabs around it.
  package var trimmingBlanks: Substring {
    var text = self
    while let first = text.first, first == " " || first == "\t" { text = text.dropFirst() }
    while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
    return text
  }
}
