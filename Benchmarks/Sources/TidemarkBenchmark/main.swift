// `tidemark-benchmark`: what the engine costs against plain C on the same disk, as ratios inside one run. `--help` tells the options.
import BenchmarkSupport
import CBaseline
import Glibc

private func run(_ options: Options) async throws {
  var report = Report(environment: options.facts)
  report.environment.append(("rounds", "\(options.bench.rounds)\(options.bench.isQuick ? ", quick" : "")"))
  for (name, run) in cases where options.includes(name) {
    let start = baseline_now()
    options.bench.progress(name)
    do {
      report.measurements += try await run(options.bench)
    } catch let skipped as Skipped {
      report.skipped.append((name, skipped.reason))
    }
    options.bench.progress("  \(decimal(Double(baseline_now() - start) / 1e9)) s")
  }
  if options.isCheck { exit(checkRegressions(report) ? 0 : 1) }
  if let folder = options.output {
    try writeFile(report.json, to: folder + "/results.json")
    try writeFile(report.markdown, to: folder + "/results.md")
    for chart in report.charts { try writeFile(chart.svg, to: folder + "/" + chart.name) }
  }
  write(report.markdown, to: 1)
}

let arguments = Array(CommandLine.arguments.dropFirst())
do {
  switch (arguments.first, arguments.count) {
  case ("child-append", 2): try childAppend(arguments[1])
  case ("child-idle", 2): try childIdle(arguments[1])
  case ("child-fold", 2): try childFold(arguments[1])
  case ("child-sleep", 2): try await childSleep(seconds: Int(arguments[1]) ?? 0)
  case ("child-replicate", 4): try await childReplicate(arguments[1], arguments[2], seconds: Int(arguments[3]) ?? 0)
  case ("child-tail", 3): try await childTail(arguments[1], count: Int(arguments[2]) ?? 0)
  case ("contender", 3): try runOwnContender(form: arguments[1], directory: arguments[2])
  case ("--help", _), (nil, _): write(help, to: 1)
  default: try await run(Options(arguments))
  }
} catch {
  write("tidemark-benchmark: \(error)\n", to: 2)
  exit(2)
}
