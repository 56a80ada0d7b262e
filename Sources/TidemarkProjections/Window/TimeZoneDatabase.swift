package import TidemarkLog
internal import TidemarkText

/// The time zone database of IANA as systems have it: a directory of files in the format TZif (RFC 9636).
///
/// ```swift
/// let zone = try TimeZoneDatabase.system.zone(named: "America/New_York")
/// print(zone.name, zone.databaseVersion)
/// ```
public struct TimeZoneDatabase: Sendable {
  let directory: String
  private let files: any FileSystem

  /// That of the system: `/usr/share/zoneinfo`, or the directory that the environment variable `TZDIR` names, as the C library has it.
  public static var system: TimeZoneDatabase { TimeZoneDatabase(directory: systemTimeZoneDirectory) }

  /// A database of your own.
  public init(directory: String) { self.init(directory: directory, files: POSIXFileSystem()) }

  package init(directory: String, files: any FileSystem) {
    self.directory = directory
    self.files = files
  }

  /// Reads the rules of a zone.
  ///
  /// - Parameter name: such as `Europe/Oslo`, in the database's case.
  ///
  /// Throws `LogError.Code.unknownTimeZone` for a name that the database does not have, `LogError.Code.damagedTimeZone` for a file that
  /// can't be used, and errors of the file system.
  ///
  /// ```swift
  /// let zone = try TimeZoneDatabase(directory: "zones").zone(named: "Europe/Oslo")
  /// ```
  public func zone(named name: String) throws -> NamedTimeZone {
    guard Self.isZoneName(name), try isThere(name) else {
      throw LogError(
        .unknownTimeZone, "there is no time zone \"\(name)\" in the database", file: directory, why: "it has no file of that name",
        advice: "check the name, also its case; where the directory is missing, install the package tzdata")
    }
    let path = "\(directory)/\(name)"
    let bytes = try read(path, upTo: 1 << 20)
    do throws(TextError) {
      return NamedTimeZone(
        name: name, databaseVersion: version ?? "unknown", digest: xxh3(bytes.rawSpan), rules: try ZoneRules(bytes))
    } catch {
      throw LogError(
        .damagedTimeZone, "the rules of the time zone \(name) can't be used", file: path, position: UInt64(error.position), why: error.why,
        advice: "install the package tzdata again, or name another zone")
    }
  }

  /// The release, such as `2025b`; nil if the directory does not tell: it may in `tzdata.zi` or in `+VERSION`.
  public var version: String? {
    if let text = head("tzdata.zi"), text.hasPrefix("# version ") { return Self.word(text.dropFirst(10)) }
    return head("+VERSION").flatMap { Self.word($0[...]) }
  }

  /// The word at the beginning of a text, if it may be a version.
  private static func word(_ text: Substring) -> String? {
    let word = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-" || $0 == "+") }
    return word.isEmpty ? nil : String(word)
  }

  private func head(_ name: String) -> String? {
    guard let file = try? files.open("\(directory)/\(name)", .read) else { return nil }
    defer { file.close() }
    var bytes = [UInt8](repeating: 0, count: 64)
    guard let count = try? file.read(64, at: 0, into: &bytes, at: 0) else { return nil }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// Letters, digits, `+`, `-` and `_`, in parts between single slashes: no way out of the directory.
  static func isZoneName(_ name: String) -> Bool {
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return name.utf8.count <= 64
      && parts.allSatisfy { part in
        !part.isEmpty
          && part.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
              UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "_"):
              true
            default: false
            }
          }
      }
  }

  /// Looks for each part among the names of its directory: some file systems would open `europe/oslo` as well, and others not.
  private func isThere(_ name: String) throws(LogError) -> Bool {
    var path = directory
    for part in name.split(separator: "/") {
      guard try files.status(path)?.isDirectory == true, try files.list(path).contains(String(part)) else { return false }
      path += "/\(part)"
    }
    return try files.status(path)?.isDirectory == false
  }

  private func read(_ path: String, upTo limit: UInt64) throws(LogError) -> [UInt8] {
    let file = try files.open(path, .read)
    defer { file.close() }
    let count = try file.byteCount()
    guard count <= limit else {
      throw LogError(
        .damagedTimeZone, "the rules of a time zone can't be used", file: path,
        why: "the file has \(count) bytes, and \(limit) are the most",
        advice: "install the package tzdata again, or name another zone")
    }
    var bytes = [UInt8](repeating: 0, count: Int(count))
    let got = try file.read(bytes.count, at: 0, into: &bytes, at: 0)
    return Array(bytes.prefix(got))
  }
}

/// The rules of one time zone, and where they are from.
///
/// ```swift
/// let zone = try TimeZoneDatabase.system.zone(named: "Asia/Kathmandu")
/// ```
public struct NamedTimeZone: Sendable, Equatable {
  /// As the database has it.
  public let name: String
  /// The release of the database, such as `2025b`; `unknown` if that does not tell.
  public let databaseVersion: String
  /// XXH3 of the zone's file. Another digest may mean other rules: a projection of your own mixes it into its version.
  public let digest: UInt64
  let rules: ZoneRules
}
