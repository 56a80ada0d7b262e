import TestSupport
import TidemarkLog

/// Switches each seeded bug on in turn: the layer that claims to catch it must report a broken invariant.
struct SeededBugGate {
  /// The layer that claims to catch it, and the number of states within which it must.
  private static func claim(_ bug: SeededBug) -> (layer: String, states: Int) {
    switch bug {
    case .pinNotChecked, .offsetsReusedAfterDamage: ("flip", .max)
    case .failedSyncRetried, .failedAppendStays, .foundCloseTrusted, .replacedByReach: ("fault", 400_000)
    case .headerNotSynced, .directoryNotSynced, .openFormRemovedFirst: ("exhaustive", .max)
    default: ("cut", 300_000)
    }
  }

  let workers: Int
  /// By name.
  let layers: [String: any Layer]

  #if TIDEMARK_SEEDED_BUGS
    static let isBuilt = true

    /// Prints one line per bug. True if all were caught.
    func run() async -> Bool {
      var missed = 0
      for bug in SeededBug.allCases {
        let claim = Self.claim(bug)
        guard let layer = layers[claim.layer] else { continue }
        unsafe SeededBug.active = bug
        let result = await LayerRun(layer: layer, bounds: .init(states: claim.states), workers: workers).run()
        unsafe SeededBug.active = nil
        if result.broken == nil { missed += 1 }
        let how = result.broken.map { String($0.message.prefix { $0 != ":" }) } ?? "-"
        let seconds = (result.seconds * 10).rounded() / 10
        let answer = result.broken == nil ? "no" : "yes"
        say("bug=\(bug.rawValue) layer=\(claim.layer) caught=\(answer) states=\(result.states) by=\(how) seconds=\(seconds)")
      }
      say("bugs=\(SeededBug.allCases.count) missed=\(missed)")
      return missed == 0
    }

    static func activate(_ name: String) -> Bool {
      guard let bug = SeededBug(rawValue: name) else { return false }
      unsafe SeededBug.active = bug
      return true
    }
  #else
    static let isBuilt = false
    func run() async -> Bool { false }
    static func activate(_ name: String) -> Bool { false }
  #endif
}
