import TidemarkCrash
import TidemarkLog
import TidemarkText

enum BenchCommand {
  static let description = CommandDescription(
    "bench", "measure what appends cost on this disk, and what follows from it",
    arguments: [.init("DIR", "a directory on the disk in question")],
    options: [.init("seconds", "N", "measure each part for N seconds, 1 to 60 (default 2)"), .json],
    notes: [
      "Appends events of \(AppendBench.eventByteCount) bytes to logs in a directory of its own inside DIR, which is removed afterwards, "
        + "also after Ctrl-C or an error. A part ends early when it has filled 512 MiB, or its share of half of the free space.",
      "The raw limit is a write of as many bytes as one event takes, and a sync, in a file that was written in full before: no log that "
        + "syncs each event can be faster. It takes turns with one writer. `.written` batches are there for comparison: they survive the "
        + "end of the process, but a power cut may take what was not synced since.",
      "Measure on a machine that does nothing else. Whether the disk keeps what it acknowledges, this doesn't show: see `crashtest`.",
    ],
    examples: [
      .init("tidemark bench .", "what an append costs here"),
      .init("tidemark bench . --seconds 20 --json | jq '.parts[] | {name, p99}'", "longer, and figures for a program"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let seconds = try arguments.number("seconds", in: 1...60) ?? 2
    let directory = arguments.argument("DIR") ?? ""
    guard let status = try POSIXFileSystem().status(directory) else {
      throw ToolError(.usage, "can't measure here", place: directory, why: "there is no such directory", advice: "name one that exists")
    }
    guard status.isDirectory else {
      throw ToolError(.usage, "can't measure here", place: directory, why: "it is no directory", advice: "name a directory")
    }
    var random = SystemRandomNumberGenerator()
    let folder = "\(directory)/tidemark-bench-" + String(random.next() as UInt64, radix: 16)
    try POSIXFileSystem().makePrivateDirectory(folder)
    defer { remove(folder) }
    let facts = EnvironmentFacts.of(folder)
    var report = BenchReport(
      directory: directory, seconds: seconds, fileSystem: facts.fileSystem, device: facts.device, writeCache: facts.writeCache)
    report.freeByteCount = try System.freeByteCount(folder)
    do {
      try AppendBench(directory: folder, seconds: seconds, freeByteCount: report.freeByteCount ?? 0).run(into: &report)
    } catch is Interrupted {
      throw ToolError(
        .environment, "the measurement was stopped", place: directory, why: "interrupted", advice: "run it again; nothing of it is left")
    }
    if arguments.isSet("json") {
      output.line(report.json)
    } else {
      for line in report.lines { output.line(line) }
    }
    return .success
  }

  private static func remove(_ folder: String) {
    Libc.remove(folder)
    if System.isDirectory(folder) { Output.complain("can't remove \(folder): remove it yourself") }
  }
}
