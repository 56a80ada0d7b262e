import TidemarkLog

/// Error numbers that a simulated disk answers with; the same on Linux and Apple systems.
package enum DiskError {
  package static let notPermitted: Int32 = 1
  package static let noEntry: Int32 = 2
  package static let inputOutput: Int32 = 5
  package static let badDescriptor: Int32 = 9
  package static let accessDenied: Int32 = 13
  package static let exists: Int32 = 17
  package static let crossDevice: Int32 = 18
  package static let notADirectory: Int32 = 20
  package static let isADirectory: Int32 = 21
  package static let tooManyFiles: Int32 = 24
  package static let fileTooLarge: Int32 = 27
  package static let noSpace: Int32 = 28
  package static let readOnlyFileSystem: Int32 = 30

  static func make(_ errno: Int32, _ what: String, _ path: String, position: UInt64? = nil) -> LogError {
    let code: LogError.Code =
      switch errno {
      case noSpace, fileTooLarge: .diskFull
      case accessDenied, notPermitted: .permissionDenied
      case readOnlyFileSystem: .readOnlyFileSystem
      case notADirectory: .notADirectory
      default: .io
      }
    return LogError(code, what, file: path, position: position, why: "simulated, errno \(errno)", errno: errno)
  }

  private static let powerCutText = "the simulated machine is off"

  /// What every call throws after a cut, and every handle of a process that died.
  static func powerCut(_ path: String) -> LogError { LogError(.io, powerCutText, file: path) }

  /// Whether an error, or what it was made from, says that the machine is off.
  package static func isPowerCut(_ error: any Error) -> Bool {
    guard let error = error as? LogError else { return false }
    return error.what == powerCutText || error.why.contains(powerCutText)
  }
}
