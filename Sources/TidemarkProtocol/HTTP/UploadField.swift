internal import TidemarkLog

/// Header fields of resumable uploads: those of the IETF's draft, and those of tus 1.0.
package enum UploadField {
  package static let offset = "upload-offset"
  package static let length = "upload-length"
  package static let complete = "upload-complete"
  package static let limit = "upload-limit"
  package static let yes = "?1"
  package static let no = "?0"

  /// Names the version of tus; who sends it speaks tus.
  package static let tus = "tus-resumable"
  package static let tusVersion = "1.0.0"
  package static let tusVersions = "tus-version"
  package static let tusExtensions = "tus-extension"
  package static let tusLimit = "tus-max-size"
  package static let tusMetadata = "upload-metadata"

  /// Reads an offset or a length. Nil for what is no number from 0 to 2^44.
  package static func number(_ field: String?) -> UInt64? {
    guard let field, field.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = UInt64(field) else {
      return nil
    }
    return number <= Record.offsetLimit ? number : nil
  }

  /// A number of a dictionary such as `max-size=1073741824, max-age=604800`.
  package static func number(_ name: String, in dictionary: String?) -> UInt64? {
    guard let dictionary else { return nil }
    for member in dictionary.split(separator: ",") {
      let sides = member.trimmingBlanks.split(separator: "=", maxSplits: 1)
      if sides.count == 2, sides[0] == name { return number(String(sides[1])) }
    }
    return nil
  }
}
