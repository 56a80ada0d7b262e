import Foundation
import TestSupport

@main
struct Simulation {
  let settings: Settings

  static func main() async {
    do {
      let settings = try Settings(Array(CommandLine.arguments.dropFirst()))
      if settings.wantsHelp { return print(Settings.usage) }
      keepFreedMemory()
      exit(try await Simulation(settings: settings).run() ? 0 : 1)
    } catch let problem as Settings.Problem {
      FileHandle.standardError.write(Data("tidemark-simulate: \(problem.text); see --help\n".utf8))
    } catch {
      FileHandle.standardError.write(Data("tidemark-simulate: \(error)\n".utf8))
    }
    exit(2)
  }

  /// All layers, with the number of states that `--ci` gives each.
  private func layers() throws -> [(layer: any Layer, states: Int)] {
    try [
      (CutLayer(seed: settings.seed), 300_000),
      (ExhaustiveLayer(length: settings.length), .max),
      (FaultLayer(seed: settings.seed), 400_000),
      (FlipLayer(seed: settings.seed, isThorough: !settings.isCI), .max),
    ]
  }

  /// True if nothing was broken.
  private func run() async throws -> Bool {
    var isWhole = true
    let chosen = try layers().filter { settings.layer == nil || type(of: $0.layer).name == settings.layer }
    if chosen.isEmpty { throw Settings.Problem(text: "there is no layer \(settings.layer ?? "")") }
    for (layer, states) in chosen {
      let bounds = LayerRun.Bounds(states: settings.states ?? (settings.seconds == nil ? states : nil), seconds: settings.seconds)
      let run = LayerRun(layer: layer, bounds: bounds, workers: settings.workers ?? ProcessInfo.processInfo.activeProcessorCount)
      if let number = settings.workload {
        isWhole = tell(run, number) && isWhole
      } else {
        let result = await run.run()
        print(result.line(layer, seed: settings.seed))
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
    for line in told.lines { print(line) }
    print(told.broken.map { "broken: \($0)" } ?? "nothing broken, \(told.states) states")
    return told.broken == nil
  }

  private func report(_ run: LayerRun, _ broken: (number: Int, message: String)) {
    let name = type(of: run.layer).name
    print("violation: \(broken.message)")
    let told = run.tell(broken.number)
    for line in told.lines.suffix(60) { print("  \(line)") }
    if told.broken != broken.message { print("  the second run ends otherwise: \(told.broken ?? "nothing broken")") }
    print("reproduce: tidemark-simulate --layer \(name) --seed \(settings.seed) --workload \(broken.number)")
  }
}
