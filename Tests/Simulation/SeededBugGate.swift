import TestSupport
import TidemarkLog
import TidemarkServer

/// Switches each seeded bug on in turn: every layer that claims to catch it must report a broken invariant. Then the control: the same
/// pieces of work without a bug, in which nothing may be broken.
///
/// A claim is run on one thread, so that it stops at the first violation, and the count of states is the same each time.
struct SeededBugGate {
  /// A layer that must catch the bug.
  private struct Claim {
    var layer: String
    /// Within so many states; no more than `--ci` gives the layer.
    var states: Int
    /// The piece of work to begin with: those before can't meet the bug, and cost time.
    var firstPiece = 0
  }

  private static let cut = Claim(layer: CutLayer.name, states: 30_000)
  private static let exhaustive = Claim(layer: ExhaustiveLayer.name, states: 40_000)
  /// Without the workloads that only make a log.
  private static let exhaustiveInUse = Claim(layer: ExhaustiveLayer.name, states: 40_000, firstPiece: 2)
  private static let fault = Claim(layer: FaultLayer.name, states: 100_000)
  private static let flip = Claim(layer: FlipLayer.name, states: 20_000)
  private static let server = Claim(layer: ServerLayer.name, states: 400)

  /// Without a default, so that no bug goes without a claim.
  private static func claims(_ bug: SeededBug) -> [Claim] {
    switch bug {
    case .noSync: [cut, exhaustive]
    case .acknowledgedBeforeWrite, .headerNotSynced, .directoryNotSynced, .noChecksum: [cut, exhaustiveInUse]
    case .namedBeforeWhole, .openFormRemovedFirst: [cut, exhaustiveInUse]
    case .foundFramesTrusted: [cut, exhaustiveInUse, fault]
    case .oldNotSyncedBeforeRoll, .trimmedBeforeRecord, .doublesRemovedLast, .foundNameTrusted: [cut]
    case .tornTailNotPreserved, .tornTailNotCut, .batchFlagIgnored, .duplicatesMissedInSealed, .recoveredNotClosed: [cut]
    case .durableTooEarly, .markNotSynced, .publishedTooEarly, .readerSeesUnsynced: [cut]
    case .failedSyncRetried, .failedAppendStays, .foundCloseTrusted, .replacedByReach: [fault]
    case .paddingNotCovered, .damageTakenForTail, .pinNotChecked, .offsetsReusedAfterDamage: [flip]
    }
  }

  /// A mistake in the engine or in the server.
  private struct Bug {
    var name: String
    var claims: [Claim]
    var setActive: (Bool) -> Void
  }

  #if TIDEMARK_SEEDED_BUGS
    private static var bugs: [Bug] {
      let engine = SeededBug.allCases.map { bug in
        Bug(name: bug.rawValue, claims: claims(bug)) { isActive in unsafe SeededBug.active = isActive ? bug : nil }
      }
      let ofServer = ServerBug.allCases.map { bug in
        Bug(name: bug.rawValue, claims: [server]) { isActive in ServerBug.active = isActive ? bug : nil }
      }
      return engine + ofServer
    }
  #endif

  /// By name.
  let layers: [String: any Layer]
  let workers: Int
  let seed: UInt64
  /// Nil: all.
  var only: String?
  /// Instead of the bounds of the claims.
  var states: Int?

  #if TIDEMARK_SEEDED_BUGS
    static let isBuilt = true

    /// Prints one line per claim, one per control, and one in all. True if every claim held and no control broke.
    func run() async -> Bool {
      let start = ContinuousClock().now
      let bugs = Self.bugs.filter { only == nil || only == $0.name }
      var caught = 0
      var used: [String: Range<Int>] = [:]
      for bug in bugs {
        var holds = !bug.claims.isEmpty
        for claim in bug.claims {
          let result = await check(bug, claim)
          holds = holds && result.isCaught
          guard !result.pieces.isEmpty else { continue }
          let old = used[claim.layer] ?? result.pieces
          used[claim.layer] = min(old.lowerBound, result.pieces.lowerBound)..<max(old.upperBound, result.pieces.upperBound)
        }
        if holds { caught += 1 }
      }
      var violations = 0
      for (name, pieces) in used.sorted(by: { $0.key < $1.key }) where await !control(name, pieces) { violations += 1 }
      let seconds = ((ContinuousClock().now - start) / .milliseconds(100)).rounded() / 10
      say("bugs=\(bugs.count) caught=\(caught) control_violations=\(violations) seconds=\(seconds)")
      return caught == bugs.count && violations == 0
    }

    /// Whether the layer catches the bug, and the pieces of work that it looked at.
    private func check(_ bug: Bug, _ claim: Claim) async -> (isCaught: Bool, pieces: Range<Int>) {
      guard let layer = layers[claim.layer] else { return (false, 0..<0) }
      let limit = states ?? claim.states
      bug.setActive(true)
      let result = await LayerRun(layer: layer, bounds: .init(firstPiece: claim.firstPiece, states: limit), workers: 1).run()
      bug.setActive(false)
      let isCaught = result.broken != nil && result.states <= limit
      let answer = result.broken == nil ? "no" : isCaught ? "yes" : "late"
      var line = "bug=\(bug.name) layer=\(claim.layer) caught=\(answer) states=\(result.states)"
      if let broken = result.broken { line += " invariant=\(broken.invariant ?? "error") workload=\(broken.number)" }
      say(line + " seconds=\((result.seconds * 10).rounded() / 10)")
      return (isCaught, claim.firstPiece..<claim.firstPiece + result.pieces)
    }

    /// The pieces of work in which bugs were caught, without a bug: whatever is broken there is no proof that a bug was caught.
    private func control(_ name: String, _ pieces: Range<Int>) async -> Bool {
      guard let layer = layers[name] else { return false }
      let bounds = LayerRun.Bounds(firstPiece: pieces.lowerBound, endPiece: pieces.upperBound)
      let result = await LayerRun(layer: layer, bounds: bounds, workers: workers).run()
      let seconds = (result.seconds * 10).rounded() / 10
      say("control layer=\(name) states=\(result.states) violations=\(result.broken == nil ? 0 : 1) seconds=\(seconds)")
      guard let broken = result.broken else { return true }
      say("violation: \(broken.message)")
      say("reproduce: tidemark-simulate --ci --layer \(name) --seed \(seed) --workload \(broken.number)")
      return false
    }

    static func activate(_ name: String) -> Bool {
      guard let bug = bugs.first(where: { $0.name == name }) else { return false }
      bug.setActive(true)
      return true
    }

    static func isKnown(_ name: String) -> Bool { bugs.contains { $0.name == name } }
  #else
    static let isBuilt = false
    func run() async -> Bool { false }
    static func activate(_ name: String) -> Bool { false }
    static func isKnown(_ name: String) -> Bool { false }
  #endif
}
