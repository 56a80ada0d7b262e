import Foundation
import TestSupport

@main
struct Simulation {
  let settings: Settings

  static func main() async {
    do {
      let settings = try Settings(Array(CommandLine.arguments.dropFirst()))
      if settings.wantsHelp { return say(Settings.usage) }
      keepFreedMemory()
      if let folder = settings.images {
        try ImageWriter(folder: folder, seed: settings.seed).write(settings.states ?? 200)
        exit(0)
      }
      exit(try await Simulation(settings: settings).run() ? 0 : 1)
    } catch let problem as Settings.Problem {
      FileHandle.standardError.write(Data("tidemark-simulate: \(problem.text); see --help\n".utf8))
    } catch {
      FileHandle.standardError.write(Data("tidemark-simulate: \(error)\n".utf8))
    }
    exit(2)
  }

  /// All layers, with the number of states that `--ci` gives each. Seeded bugs must be caught by what `--ci` looks at.
  private func layers() throws -> [(layer: any Layer, states: Int)] {
    try [
      (CutLayer(seed: settings.seed), 300_000),
      (ExhaustiveLayer(length: settings.length), .max),
      (FaultLayer(seed: settings.seed), 400_000),
      (FlipLayer(seed: settings.seed, isThorough: !settings.isCI && !settings.checksBugs), .max),
      (ServerLayer(seed: settings.seed), 400),
    ]
  }

  private var workers: Int { settings.workers ?? ProcessInfo.processInfo.activeProcessorCount }

  /// True if nothing was broken.
  private func run() async throws -> Bool {
    let layers = try layers()
    if settings.checksBugs || settings.bug != nil, !SeededBugGate.isBuilt {
      throw Settings.Problem(text: "this build has no seeded bugs; build it with TIDEMARK_SEEDED_BUGS=1")
    }
    if settings.checksBugs {
      if let bug = settings.bug, !SeededBugGate.isKnown(bug) { throw Settings.Problem(text: "there is no bug \(bug)") }
      let named = Dictionary(uniqueKeysWithValues: layers.map { (type(of: $0.layer).name, $0.layer) })
      let gate = SeededBugGate(layers: named, workers: workers, seed: settings.seed, only: settings.bug, states: settings.states)
      return await gate.run()
    }
    if let bug = settings.bug, !SeededBugGate.activate(bug) { throw Settings.Problem(text: "there is no bug \(bug)") }
    return try await run(layers)
  }

  private func run(_ layers: [(layer: any Layer, states: Int)]) async throws -> Bool {
    var isWhole = true
    let chosen = layers.filter { settings.layer == nil || type(of: $0.layer).name == settings.layer }
    if chosen.isEmpty { throw Settings.Problem(text: "there is no layer \(settings.layer ?? "")") }
    for (layer, states) in chosen {
      let bounds = LayerRun.Bounds(states: settings.states ?? (settings.seconds == nil ? states : nil), seconds: settings.seconds)
      let run = LayerRun(layer: layer, bounds: bounds, workers: workers)
      if let number = settings.workload {
        isWhole = tell(run, number) && isWhole
      } else {
        let result = await run.run()
        say(result.line(layer, seed: settings.seed))
        if let broken = result.broken {
          isWhole = false
          report(run, broken)
        }
      }
    }
    return isWhole
  }

  /// Runs one piece alone, and prints all it does.
  private func tell(_ run: LayerRun, _ number: Int) -> Bool {
    let told = run.tell(number)
    for line in told.lines { say(line) }
    say(told.broken.map { "broken: \($0)" } ?? "nothing broken, \(told.states) states")
    return told.broken == nil
  }

  private func report(_ run: LayerRun, _ broken: (number: Int, invariant: String?, message: String)) {
    let name = type(of: run.layer).name
    say("violation: \(broken.message)")
    let told = run.tell(broken.number)
    for line in told.lines.suffix(60) { say("  \(line)") }
    if told.broken != broken.message { say("  the second run ends otherwise: \(told.broken ?? "nothing broken")") }
    let length = name == ExhaustiveLayer.name ? " --length \(settings.length)" : ""
    say("reproduce: tidemark-simulate --layer \(name) --seed \(settings.seed)\(length) --workload \(broken.number)")
  }
}
