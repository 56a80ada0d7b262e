import TidemarkText

/// Media types.
enum ContentType {
  private static let json = Array("application/json".utf8)
  private static let suffix = Array("+json".utf8)

  /// `application/json`, and any type that ends in `+json`; parameters and case don't matter.
  static func isJSON(_ contentType: Span<UInt8>) -> Bool {
    if contentType.equals(json.span) { return true }
    var type: [UInt8] = []
    for index in contentType.indices {
      let byte = contentType[index]
      if byte == UInt8(ascii: ";") || byte == UInt8(ascii: " ") { break }
      type.append(byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte)
    }
    return type == json || type.count > suffix.count && Array(type.suffix(suffix.count)) == suffix
  }
}
