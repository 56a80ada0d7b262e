public import TidemarkLog

extension LogError.Code {
  /// A signature, a proof or a digest does not verify, or what would prove it is not there.
  public static let notProven = LogError.Code(rawValue: "notProven")
  /// Two histories that should be one differ.
  public static let inconsistent = LogError.Code(rawValue: "inconsistent")
  /// A key is not there, or not readable.
  public static let missingKey = LogError.Code(rawValue: "missingKey")
}

extension LogError {
  /// Text of another form than it should have.
  static func malformed(_ what: String, line: Int? = nil, _ why: String) -> LogError {
    LogError(
      .invalidText, line.map { "\(what), line \($0), can't be read" } ?? "\(what) can't be read", why: why,
      advice: "get it again from where it came from")
  }
}
