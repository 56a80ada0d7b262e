/// Writes fields of comma-separated values (RFC 4180).
package enum CSVWriter {
  /// Appends a field, in quotes if it holds a quote, a comma or a line break.
  package static func field(_ text: Span<UInt8>, to output: inout [UInt8]) {
    var needsQuotes = false
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: "\n"), UInt8(ascii: "\r"): needsQuotes = true
      default: continue
      }
      break
    }
    guard needsQuotes else {
      output.append(text)
      return
    }
    output.append(UInt8(ascii: "\""))
    for index in text.indices {
      if text[index] == UInt8(ascii: "\"") { output.append(UInt8(ascii: "\"")) }
      output.append(text[index])
    }
    output.append(UInt8(ascii: "\""))
  }

  package static func field(_ text: String, to output: inout [UInt8]) { field(text.utf8Span.span, to: &output) }
}
