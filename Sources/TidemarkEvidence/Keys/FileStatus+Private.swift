internal import TidemarkLog

extension FileStatus {
  /// Refuses what others than its owner may read or change.
  func checkPrivate(_ path: String) throws(LogError) {
    guard !isPrivate else { return }
    throw LogError(
      .keysNotPrivate, "keys are open to others", file: path, why: "its permissions give more than its owner access",
      advice: "take them away (chmod go= FILE), and think about who may have read it")
  }
}
