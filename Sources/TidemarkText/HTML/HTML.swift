/// Text in pages.
package enum HTML {
  /// Text as it stands between tags and in attributes. Control characters, which a page can't carry, are shown as U+FFFD.
  package static func escaped(_ text: String) -> String {
    var output = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": output += "&amp;"
      case "<": output += "&lt;"
      case ">": output += "&gt;"
      case "\"": output += "&quot;"
      case "\n", "\t": output.unicodeScalars.append(character)
      default: output.unicodeScalars.append(character.value < 0x20 ? "\u{FFFD}" : character)
      }
    }
    return output
  }
}
