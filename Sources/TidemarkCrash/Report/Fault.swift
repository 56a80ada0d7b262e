/// What is done to an engine while it writes.
package enum Fault: String, CaseIterable, Sendable {
  case kill
  case powerExt4 = "power-ext4"
  case powerXFS = "power-xfs"
  case replay
  case sync
  case full

  /// What `--faults` takes: these names, and `power` for both file systems.
  package static func named(_ name: String) -> [Fault]? {
    if name == "power" { return [.powerExt4, .powerXFS] }
    return Fault(rawValue: name).map { [$0] }
  }

  /// What it is, for people.
  package var title: String {
    switch self {
    case .kill: "kill -9"
    case .powerExt4: "power cut, ext4"
    case .powerXFS: "power cut, XFS"
    case .replay: "power cut, reordered and torn"
    case .sync: "sync failure"
    case .full: "full disk"
    }
  }

  /// The setting that must lose events under it.
  package var control: OwnSetting {
    switch self {
    case .kill: .acknowledgesBeforeWrite
    case .powerExt4, .powerXFS: .neverSyncs
    case .replay: .neverFlushes
    case .sync: .retriesSync
    case .full: .ignoresShortWrites
    }
  }

  /// Whether an engine with that claim says that acknowledged events survive it.
  package func isCovered(by claim: Claim) -> Bool {
    switch self {
    case .kill, .full: claim != .none
    case .powerExt4, .powerXFS, .replay, .sync: claim == .power
    }
  }

  /// The name of the layer in a line for machines, and the file system.
  package var layer: (name: String, fileSystem: String?) {
    switch self {
    case .powerExt4: ("power", "ext4")
    case .powerXFS: ("power", "xfs")
    case .replay: ("replay", "ext4")
    case .sync: ("sync", "ext4")
    case .kill: ("kill", nil)
    case .full: ("full", nil)
    }
  }
}
