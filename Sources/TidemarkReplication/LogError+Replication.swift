public import TidemarkLog

extension LogError.Code {
  /// No answer came from the server, or one that is not its own.
  public static let transport = LogError.Code(rawValue: "transport")
  /// The server refused, with its reason.
  public static let refused = LogError.Code(rawValue: "refused")
  /// The device has no credentials of a server.
  public static let notEnrolled = LogError.Code(rawValue: "notEnrolled")
  /// There are events that the server has not accepted.
  public static let unsentEvents = LogError.Code(rawValue: "unsentEvents")
}

/// Any error as text.
func text(of error: any Error) -> String { (error as? LogError)?.description ?? "\(error)" }
