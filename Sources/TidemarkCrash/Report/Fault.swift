/// What is done to an engine while it writes.
package enum Fault: String, CaseIterable, Sendable {
  case killRandom = "kill-random"
  case killCall = "kill-call"
  case powerExt4 = "power-ext4"
  case powerXFS = "power-xfs"
  case replay
  case sync
  case full
  /// Somebody pulls the plug: nothing that a run could do by itself.
  case plug

  /// Those that a run injects by itself.
  package static let injected = allCases.filter { $0 != .plug }

  /// What `--faults` takes: these names, `kill` for both ways, and `power` for both file systems.
  package static func named(_ name: String) -> [Fault]? {
    switch name {
    case "kill": [.killRandom, .killCall]
    case "power": [.powerExt4, .powerXFS]
    default: injected.first { $0.rawValue == name }.map { [$0] }
    }
  }

  /// What it is, for people.
  package var title: String {
    switch self {
    case .killRandom: "kill -9 at random"
    case .killCall: "kill -9 at each call"
    case .powerExt4: "power cut, ext4"
    case .powerXFS: "power cut, XFS"
    case .replay: "power cut, reordered and torn"
    case .sync: "sync failure"
    case .full: "full disk"
    case .plug: "plug pulled"
    }
  }

  /// The setting that must lose events under it.
  package var control: OwnSetting {
    switch self {
    case .killRandom, .killCall: .acknowledgesBeforeWrite
    case .powerExt4, .powerXFS, .plug: .neverSyncs
    case .replay: .neverFlushes
    case .sync: .retriesSync
    case .full: .ignoresShortWrites
    }
  }

  /// Whether an engine with that claim says that acknowledged events survive it.
  package func isCovered(by claim: Claim) -> Bool {
    switch self {
    case .killRandom, .killCall, .full: claim != .none
    case .powerExt4, .powerXFS, .replay, .sync, .plug: claim == .power
    }
  }

  /// The name of the layer in a line for machines, and the file system.
  package var layer: (name: String, fileSystem: String?) {
    switch self {
    case .powerExt4: ("power", "ext4")
    case .powerXFS: ("power", "xfs")
    case .replay: ("replay", "ext4")
    case .sync: ("sync", "ext4")
    case .killRandom: ("kill", nil)
    case .killCall: ("kill-call", nil)
    case .full: ("full", nil)
    case .plug: ("plug", nil)
    }
  }
}
