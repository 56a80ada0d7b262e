import Testing
import TidemarkCrash

@Suite("A machine and its witness")
struct PlugTests {
  static let name = "0123456789abcdef0123456789abcdef"

  static func result(_ change: (inout PlugResult) -> Void = { _ in }) -> PlugResult {
    var result = PlugResult()
    result.atRisk = 500
    change(&result)
    return result
  }

  static let lines: [(WitnessLine, String)] = [
    (.hello(version: 1), "hello 1"), (.create(run: name), "create \(name)"), (.resume(run: name), "resume \(name)"),
    (.round(number: 3, boot: "b-1"), "round 3 b-1"),
    (.writer(engine: "sqlite-wal-full", batch: 5, count: 200), "writer sqlite-wal-full 5 200"),
    (.begin, "begin"), (.acknowledged(engine: "lmdb", events: 0), "ack lmdb 0"),
    (.acknowledged(engine: "lmdb", events: 999_999_999_999_999), "ack lmdb 999999999999999"),
    (.result(engine: "a", result { $0.judgement.lost = 7 }), "result a 500 7 0 0 0 0 0 0 0 0"),
    (.result(engine: "a", result { $0.isUnopenable = true }), "result a 500 0 0 0 0 0 0 0 1 0"), (.judged, "judged"),
    (.witness(name: name), "witness \(name)"), (.ok, "ok"), (.refused(why: "no such run; go away"), "refused no such run; go away"),
  ]

  @Test("each line is read as it was written", arguments: lines)
  func asWritten(_ line: WitnessLine, _ text: String) {
    #expect(line.text == text)
    #expect(WitnessLine(text.utf8) == line)
  }

  @Test("every count of a result is kept in its place")
  func counts() {
    let line = WitnessLine("result a 1 2 3 4 5 6 7 8 0 9".utf8)
    let expected = Self.result { result in
      result.atRisk = 1
      result.judgement.lost = 2
      result.judgement.phantoms = 3
      result.judgement.damaged = 4
      result.judgement.duplicates = 5
      result.judgement.gaps = 6
      result.judgement.disordered = 7
      result.judgement.tornBatches = 8
      result.openingMicroseconds = 9
    }
    #expect(line == .result(engine: "a", expected) && line?.text == "result a 1 2 3 4 5 6 7 8 0 9")
  }

  static let malformed = [
    "", " ", "ok ", " ok", "OK", "okay", "ok\r", "hello", "hello 1 2", "hello x", "hello -1", "hello +1", "hello 01",
    "hello 1000000000000000",
    "hello 18446744073709551616", "create", "create 1", "create \(name)0", "create \(name.uppercased())",
    "create ../../etc/passwd0000000000000000",
    "resume ", "resume \(name) ", "round 1", "round x b", "round 1 b/c", "round 1 \(String(repeating: "b", count: 65))", "writer a 1",
    "writer a 1 2 3", "writer  1 2", "writer a b 2", "begin 1", "ack a", "ack a -1", "ack a 1.5", "ack a 1 2", "ack a/b 1", "ack ä 1",
    "result a 1 2 3 4 5 6 7 8 9", "result a 1 2 3 4 5 6 7 8 2 9", "result a 1 2 3 4 5 6 7 x 0 9", "result a 1 2 3 4 5 6 7 8 0 9 10",
    "judged 1",
    "witness me", "refused", "ack a 1\u{0}", "refused \u{7F}", "refused " + String(repeating: "x", count: 249), "unknown",
  ]

  @Test("a line that is not exactly as it should be is none", arguments: malformed)
  func none(_ text: String) {
    #expect(WitnessLine(text.utf8) == nil)
    #expect(WitnessLine([0xFF, 0xFE]) == nil)
  }

  @Test("an address is a host and perhaps a port")
  func addresses() {
    #expect(WitnessAddress("box") == WitnessAddress(host: "box", port: Witness.defaultPort))
    #expect(WitnessAddress("10.0.0.2:80") == WitnessAddress(host: "10.0.0.2", port: 80))
    #expect(WitnessAddress("[::1]:80") == WitnessAddress(host: "::1", port: 80))
    #expect(WitnessAddress("[::1]") == WitnessAddress(host: "::1", port: Witness.defaultPort))
    #expect(WitnessAddress("fe80::1") == WitnessAddress(host: "fe80::1", port: Witness.defaultPort))
    for text in ["", ":80", "a:", "a:0", "a:65536", "a:+1", "a:b", "[::1", "[::1]80", "[]:1", "a b"] {
      #expect(WitnessAddress(text) == nil, "\(text)")
    }
  }

  private func history(_ lines: [String]) throws -> PlugHistory {
    var history = PlugHistory()
    for text in lines {
      let line = try #require(WitnessLine(text.utf8))
      #expect(history.take(line) == nil, "\(text)")
    }
    return history
  }

  static let round = ["round 1 b1", "writer control-never-syncs 1 1000", "writer a 5 1000", "begin"]
  static let clean = "0 0 0 0 0 0 0 0 7"

  @Test("a history is made again from its own lines")
  func again() throws {
    let lines =
      Self.round + ["ack a 5", "ack control-never-syncs 3", "ack a 50", "result a 50 \(Self.clean)"]
      + [
        "result control-never-syncs 3 2 0 0 0 0 0 0 0 7", "result a 50 \(Self.clean)", "judged", "round 2 b2", "writer a 1 10",
        "round 3 b2",
      ]
    let history = try history(lines)
    #expect(try self.history(history.lines.map(\.text)) == history)
    #expect(history.rounds.map(\.isPull) == [true, false, false] && history.pending == nil)
    #expect(history.rounds[0].writers.map(\.acknowledged) == [3, 50])
    let pending = try self.history(Self.round + ["ack a 5"]).pending
    #expect(pending?.boot == "b1" && pending?.writers[1].acknowledged == 5)
  }

  static let misfits: [([String], String, String)] = [
    ([], "begin", "there is no round"), ([], "ack a 1", "there is no round"), ([], "round 2 b", "the next round is 1"),
    (round, "round 1 b", "the next round is 2"), (["round 1 b"], "begin", "nothing to begin"), (round, "begin", "nothing to begin"),
    (round, "writer b 1 1", "the round has begun"), (["round 1 b", "writer a 1 1"], "writer a 1 1", "writes already"),
    (["round 1 b"], "writer a 0 1", "can't be"), (["round 1 b"], "writer a 1001 1", "can't be"),
    (["round 1 b"], "writer a 1 0", "can't be"),
    (["round 1 b"], "writer a 1 10000001", "can't be"), (["round 1 b", "writer a 1 1"], "ack a 1", "no engine writes now"),
    (round, "ack b 1", "does not write"), (round, "ack a 0", "can't be"), (round + ["ack a 5"], "ack a 5", "can't be"),
    (round, "ack a 1001", "can't be"), (["round 1 b"], "result a 0 \(clean)", "nothing to judge"),
    (round, "result b 0 \(clean)", "did not write"),
    (round + ["result a 0 \(clean)"], "judged", "a result is missing"), (round, "hello 1", "not for here"), (round, "ok", "not for here"),
  ]

  @Test("what does not fit into a history is refused, and changes nothing", arguments: misfits)
  func misfit(_ before: [String], _ text: String, _ why: String) throws {
    var history = try history(before)
    let unchanged = history
    let line = try #require(WitnessLine(text.utf8))
    #expect(history.take(line)?.contains(why) == true)
    #expect(history == unchanged)
  }

  @Test("a run has so many rounds, and a round so many writers")
  func limits() throws {
    var history = PlugHistory()
    for number in 1...PlugHistory.roundLimit { #expect(history.take(.round(number: UInt64(number), boot: "b")) == nil) }
    #expect(history.take(.round(number: UInt64(PlugHistory.roundLimit + 1), boot: "b")) != nil)
    for number in 0..<PlugHistory.writerLimit { #expect(history.take(.writer(engine: "e\(number)", batch: 1, count: 1)) == nil) }
    #expect(history.take(.writer(engine: "more", batch: 1, count: 1)) != nil)
  }

  // MARK: What is said of it

  private func report(pulls: Int, lost: Int = 0, controlLost: Int = 3, claim: Claim = .power) -> CrashReport {
    let engine = Subject(name: "some", claim: claim, library: "", program: "some")
    let control = Subject(name: "control-never-syncs", claim: .power, library: "", isControl: true, program: "control")
    var report = CrashReport(environment: EnvironmentFacts(), seed: 0)
    report.engines = [.init(name: "some", claim: claim, library: "")]
    var (good, bad) = (Cell(engine, .plug), Cell(control, .plug))
    (good.injections, good.lost, good.injectionsWithLoss) = (pulls, lost, min(lost, 1))
    (bad.injections, bad.lost) = (pulls, controlLost)
    report.cells = [bad, good]
    return report
  }

  @Test("the drive's cache gets a verdict only by recorded pulls in which the control lost something")
  func driveCache() {
    #expect(report(pulls: 0).driveCache("some") == "not tested")
    #expect(report(pulls: 1).driveCache("some") == "nothing lost in 1 plug pull, too few for a bound")
    #expect(report(pulls: 30).driveCache("some") == "nothing lost in 30 plug pulls (below 10.0 % with 95 % confidence)")
    #expect(report(pulls: 30, lost: 1).driveCache("some") == "loses acknowledged events")
    #expect(report(pulls: 30, controlLost: 0).driveCache("some") == "no verdict, the control lost nothing")
    #expect(report(pulls: 30, lost: 1, controlLost: 0).driveCache("some") == "no verdict, the control lost nothing")
    var torn = report(pulls: 30)
    torn.cells[1].tornBatches = 1
    #expect(torn.driveCache("some") == "what was there was not whole")
    torn.cells[1].unopenable = 1
    #expect(torn.driveCache("some") == "loses acknowledged events")
  }

  @Test("of an engine that does not sync, pulls say nothing about the drive")
  func unclaimed() {
    let verdicts = report(pulls: 30, lost: 9, claim: .process).verdicts("some")
    #expect(verdicts.suffix(2) == ["loses events when the plug is pulled, as it says", "drive cache: not tested"])
  }

  @Test("pulls are reported as other faults are")
  func everywhere() {
    let report = report(pulls: 4)
    let text = TextReport.lines(of: report)
    #expect(text.contains("plug pulled:"))
    let verdict = "drive cache: nothing lost in 4 plug pulls (below 75.0 % with 95 % confidence)"
    #expect(text.last == "  some: process crashes: not tested; OS crashes: not tested; \(verdict)")
    #expect(String(decoding: JSONReport.bytes(of: report), as: UTF8.self).contains(#"{"fault":"plug","engine":"some","control":false,"#))
    let page = String(decoding: HTMLReport.bytes(of: report), as: UTF8.self)
    #expect(page.contains("<h3>plug pulled</h3>") && page.contains("nothing lost in 4 plug pulls") && !page.contains("not tested</b>"))
  }
}
