import Foundation
import Testing

import TidemarkTool

@Suite("bench")
struct BenchTests {
  let space: Workspace

  init() throws {
    space = try Workspace()
    try FileManager.default.createDirectory(atPath: space.path("d"), withIntermediateDirectories: true)
  }

  var isEmpty: Bool { get throws { try FileManager.default.contentsOfDirectory(atPath: space.path("d")).isEmpty } }

  @Test("measures all parts, gives them as JSON, and leaves nothing behind")
  func json() throws {
    let result = try space.run("bench", "d", "--seconds", "1", "--json")
    #expect(result.code == 0 && result.errors.isEmpty, "\(result.errors)")
    let report = try #require(JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    let parts = try #require(report["parts"] as? [[String: Any]])
    #expect(parts.map { $0["name"] as? String } == BenchPart.allCases.map(\.rawValue))
    let eventsPerAppend = [1, 1, 100, 1, 1000]
    for (part, count) in zip(parts, eventsPerAppend) {
      func figure(_ name: String) -> Int { part[name] as? Int ?? -1 }
      #expect(figure("appends") > 0 && figure("events") == figure("appends") * count, "\(part)")
      #expect(figure("p50") > 0 && figure("p50") <= figure("p99") && figure("p99") <= figure("longest"), "\(part)")
      #expect(figure("longest") <= figure("duration"), "\(part)")
    }
    let sync = try #require(report["sync_p50"] as? Int)
    #expect(sync > 0 && sync <= parts[0]["longest"] as? Int ?? 0)
    #expect(report["file_system"] as? String != "" && report["free_bytes"] as? Int ?? 0 > 0 && report["advice"] is [Any])
    #expect(try isEmpty)
  }

  @Test("shows all parts to people, and says which level survives what")
  func table() throws {
    let result = try space.run("bench", "d", "--seconds", "1")
    #expect(result.code == 0, "\(result.errors)")
    for part in BenchPart.allCases {
      let line = try #require(result.lines.first { $0.hasPrefix(part.title) })
      #expect(line.hasSuffix(part == .written ? "end of process" : "power cut"), "\(line)")
    }
    #expect(try isEmpty)
  }

  @Test("Ctrl-C ends it, and nothing is left")
  func interrupted() throws {
    let running = try space.start(["bench", "d", "--seconds", "60"], standardInput: FileHandle.nullDevice)
    for _ in 0..<5_000 where try isEmpty { usleep(2_000) }
    #expect(try !isEmpty)
    running.kill(SIGINT)
    let result = try running.finish()
    #expect(result.code == 3 && result.errors.contains("interrupted") && result.output.isEmpty, "\(result.errors)")
    #expect(try isEmpty)
  }

  @Test("an error while it measures is named, and nothing is left", arguments: ["65536", "6000000"])
  func failed(_ fileByteLimit: String) throws {
    let result = try space.run("crashtest-limit", fileByteLimit, Workspace.tool, "bench", "d", "--seconds", "1")
    #expect(result.code == 3 && result.errors.contains("d/tidemark-bench-"), "\(result.errors)")
    #expect(result.errors.contains("free some space"), "\(result.errors)")
    #expect(try isEmpty)
  }

  @Test("a directory that is not there, or is none, or in which nothing can be made, is named")
  func wrongDirectory() throws {
    try space.write("file", "text")
    for (name, code, why) in [
      ("nowhere", Int32(2), "(nowhere): there is no such directory"), ("file", 2, "(file): it is no directory"),
      ("/proc", 3, "cannot make the directory (/proc/tidemark-bench-"),
    ] {
      let result = try space.run("bench", name, "--seconds", "1")
      #expect(result.code == code && result.errors.contains(why), "\(result.errors)")
    }
    #expect(try space.bytes("file") == Array("text".utf8))
    #expect(!FileManager.default.fileExists(atPath: space.path("nowhere")))
  }

  @Test("a time out of range is refused", arguments: ["0", "61"])
  func wrongTime(_ seconds: String) throws {
    let result = try space.run("bench", "d", "--seconds", seconds)
    #expect(result.code == 2 && result.errors.contains("--seconds \(seconds)"), "\(result.errors)")
  }

  /// Figures that call for no advice, but for what a test changes.
  private static func rules(
    sync: UInt64 = 100_000, raw: Int = 1000, single: Int = 1000, batches: Int = 1000, writers: Int = 1000, p50: UInt64 = 500_000,
    p99: UInt64 = 900_000
  ) -> [BenchAdvice.Rule] {
    func figures(_ events: Int) -> BenchFigures {
      BenchFigures(eventCount: events, appendCount: events, nanoseconds: 1_000_000_000, p50: p50, p99: p99, longest: p99)
    }
    var report = BenchReport(directory: "d", seconds: 1)
    report.medianSyncNanoseconds = sync
    report.figures = [.rawLimit: figures(raw), .oneWriter: figures(single), .batches: figures(batches), .writers: figures(writers)]
    return BenchAdvice.from(report).map(\.rule)
  }

  @Test("advice is given beyond its threshold, and not at it")
  func advice() {
    #expect(Self.rules().isEmpty)
    #expect(Self.rules(sync: 49_999) == [.quickSync] && Self.rules(sync: 50_000).isEmpty && Self.rules(sync: 50_001).isEmpty)
    #expect(Self.rules(single: 799) == [.belowRawLimit] && Self.rules(single: 800).isEmpty && Self.rules(single: 801).isEmpty)
    func slow(_ rate: Int) -> [BenchAdvice.Rule] { Self.rules(raw: rate, single: rate, batches: rate, writers: rate) }
    #expect(slow(49) == [.slowWriter] && slow(50).isEmpty && slow(51).isEmpty)
    #expect(Self.rules(batches: 1999).isEmpty && Self.rules(batches: 2000) == [.batchesGain] && Self.rules(batches: 2001) == [.batchesGain])
    #expect(Self.rules(writers: 1999).isEmpty && Self.rules(writers: 2000) == [.writersGain] && Self.rules(writers: 2001) == [.writersGain])
    #expect(Self.rules(p99: 4_999_999).isEmpty && Self.rules(p99: 5_000_000).isEmpty && Self.rules(p99: 5_000_001) == [.unevenLatency])
  }

  @Test("nothing measured gives no advice that rests on it")
  func noFigures() {
    #expect(Self.rules(raw: 0, single: 0, batches: 0, writers: 0, p50: 0, p99: 0) == [.slowWriter])
  }
}
