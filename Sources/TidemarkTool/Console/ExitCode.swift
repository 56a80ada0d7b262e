import TidemarkEvidence
import TidemarkLog
import TidemarkReplication
import TidemarkText

/// How the tool ends. Scripts rely on it.
enum ExitCode: Int32 {
  /// All well.
  case success = 0
  /// The answer is no: damage found, a conflict, a difference.
  case negative = 1
  /// Wrong use: arguments, or input that is not what it should be.
  case usage = 2
  /// Files, permissions, space, another writer, an interruption.
  case environment = 3
  /// The log is damaged and the tool refuses to go on.
  case corrupt = 4

  static let list = [
    ("0", "all well"), ("1", "the answer is no: damage found, a conflict, a difference"), ("2", "wrong use, or input that is malformed"),
    ("3", "files, permissions, space, another writer, interrupted"), ("4", "the log is damaged and the tool refuses to go on"),
  ]

  init(_ code: LogError.Code) {
    switch code {
    case .conflict, .unexpectedSize, .notProven, .inconsistent, .unknownSubject, .refused, .unsentEvents: self = .negative
    case .invalidArgument, .invalidEvent, .invalidText, .timeOutOfRange, .stringTooLong, .tooLarge, .offsetOutOfRange, .trimmed,
      .notEnrolled:
      self = .usage
    case .corrupt, .damagedIndex, .damagedEnvelope, .keyMismatch: self = .corrupt
    default: self = .environment
    }
  }
}

/// An error of the tool's own. Printed as `tidemark: <what> (<place>): <why>; <advice>`.
struct ToolError: Error, CustomStringConvertible {
  var exitCode: ExitCode
  var what: String
  /// A file, and a position in it.
  var place: String?
  var why: String
  var advice: String

  init(_ exitCode: ExitCode, _ what: String, place: String? = nil, why: String, advice: String) {
    self.exitCode = exitCode
    self.what = what
    self.place = place
    self.why = why
    self.advice = advice
  }

  /// An error in input.
  init(_ error: InputError, file: String, advice: String) {
    self.init(.usage, "malformed input", place: "\(file), line \(error.line), column \(error.column)", why: error.why, advice: advice)
  }

  /// Any error that reached the top.
  init(_ error: any Error) {
    switch error {
    case let error as ToolError: self = error
    case let error as UsageError: self.init(.usage, error.what, why: error.why, advice: error.advice)
    case is Interrupted: self.init(.environment, "stopped", why: "interrupted", advice: "run it again to do the rest")
    default: self.init(.environment, "failed", why: "\(error)", advice: "run it again, and report this if it persists")
    }
  }

  var description: String {
    var text = what
    if let place { text += " (\(place))" }
    if !why.isEmpty { text += ": \(why)" }
    if !advice.isEmpty { text += "; \(advice)" }
    return text
  }
}
