import Testing
import TidemarkCrash

@Suite("Reports of a crash test")
struct ReportTests {
  private let engine = Subject(name: "some", claim: .power, library: "1.2", program: "some")
  private let control = Subject(name: Fault.killRandom.control.rawValue, claim: .process, library: "", isControl: true, program: "control")

  private func report(_ faults: [Fault], lost: Int = 0, controlLost: Int = 3) -> CrashReport {
    var report = CrashReport(environment: EnvironmentFacts(), seed: 7)
    report.engines = [.init(name: "some", claim: .power, library: "1.2")]
    for fault in faults {
      let wrong = Subject(name: fault.control.rawValue, claim: .power, library: "", isControl: true, program: "control")
      var bad = Cell(wrong, fault)
      (bad.injections, bad.lost) = (20, controlLost)
      var good = Cell(engine, fault)
      (good.injections, good.lost, good.injectionsWithLoss, good.wholeWorkloads) = (300, lost, lost, 2)
      good.violations = lost
      report.cells += [bad, good]
    }
    return report
  }

  @Test("the word durable is said only of one that was clean under all power cuts")
  func durable() {
    let all: [Fault] = [.killRandom, .killCall, .powerExt4, .powerXFS, .replay]
    #expect(report(all).verdicts("some").contains { $0.contains("durable") })
    for left in [Fault.powerExt4, .replay] {
      let some = all.filter { $0 != left && !(left == .powerExt4 && $0 == .powerXFS) }
      #expect(!report(some).verdicts("some").contains { $0.contains("durable") }, "without \(left)")
    }
    #expect(!report(all, lost: 1).verdicts("some").contains { $0.contains("durable") })
    #expect(report(all, lost: 1).verdicts("some").contains("not OS-crash safe"))
    #expect(report(all).verdicts("some").contains("drive cache: not tested"))
  }

  @Test("kill -9 alone proves process-crash safety and nothing else")
  func killAlone() {
    #expect(
      report([.killRandom, .killCall]).verdicts("some") == ["process-crash safe", "OS crashes: not tested", "drive cache: not tested"])
  }

  @Test("of process crashes, what was not tested is named, and the worse of both ways decides")
  func eachWayOfKilling() {
    func verdict(_ report: CrashReport) -> String? { report.verdicts("some").first }
    #expect(verdict(report([.killRandom])) == "process-crash safe as far as tested (only random kills)")
    #expect(verdict(report([.killCall])) == "process-crash safe as far as tested (no random kills)")
    var both = report([.killRandom, .killCall])
    both.cells[3].wholeWorkloads = 0
    #expect(verdict(both) == "process-crash safe as far as tested (only random kills)")
    #expect(TextReport.lines(of: both).contains("  some: no workload was killed at each of its calls: it takes more injections"))
    both.cells[3].tornBatches = 1
    #expect(verdict(both) == "not process-crash safe: what was there was not whole")
    both.cells[1].lost = 1
    #expect(verdict(both) == "not process-crash safe")
  }

  @Test("how many workloads were killed at each call is told, to people and machines")
  func wholeWorkloads() {
    let report = report([.killCall])
    #expect(TextReport.lines(of: report).contains("  some: 2 workloads killed at each call"))
    #expect(TextReport.layerLines(of: report).first?.hasSuffix(" whole_workloads=2") == true)
    #expect(String(decoding: JSONReport.bytes(of: report), as: UTF8.self).contains(#""whole_workloads":2,"#))
    #expect(String(decoding: HTMLReport.bytes(of: report), as: UTF8.self).contains("some: 2 workloads killed at each call"))
  }

  @Test("a fault whose control lost nothing gives no verdict, and the run is not good")
  func noVerdict() {
    let report = report([.killRandom, .powerExt4], controlLost: 0)
    #expect(
      report.verdicts("some").prefix(2) == [
        "process crashes: no verdict, the control lost nothing", "OS crashes: no verdict, a control lost nothing",
      ])
    #expect(!report.isGood)
    #expect(self.report([.killRandom]).isGood)
  }

  @Test("of an engine that claims nothing under a fault, only a loss is told")
  func unclaimed() {
    var report = CrashReport(environment: EnvironmentFacts(), seed: 1)
    report.engines = [.init(name: "some", claim: .none, library: "")]
    var cell = Cell(Subject(name: "some", claim: .none, library: "", program: "some"), .full)
    cell.injections = 10
    report.cells = [cell]
    #expect(report.verdicts("some").allSatisfy { !$0.contains("disk") })
    report.cells[0].lost = 1
    #expect(report.verdicts("some").contains("loses events on a full disk, as it says"))
  }

  @Test("zero of N means below 3/N; any loss gives no bound")
  func bound() throws {
    let clean = try #require(report([.killRandom]).cell("some", .killRandom))
    #expect(clean.bound == 0.01)
    #expect(report([.killRandom], lost: 2).cell("some", .killRandom)?.bound == nil)
  }

  @Test("a skipped fault is one line, for people and for machines")
  func skipped() {
    var report = report([.killRandom])
    report.skipped = [(.powerXFS, "mkfs.xfs is not installed")]
    #expect(TextReport.lines(of: report).contains("skipped: power cut, XFS (power-xfs): mkfs.xfs is not installed"))
    #expect(TextReport.layerLines(of: report).contains("layer=power fs=xfs skipped=mkfs.xfs-is-not-installed"))
    #expect(
      String(decoding: JSONReport.bytes(of: report), as: UTF8.self).contains(
        #""skipped":[{"fault":"power-xfs","why":"mkfs.xfs is not installed"}]"#))
  }

  @Test("a partial report says so everywhere")
  func partial() {
    var report = report([.killRandom])
    report.isPartial = true
    #expect(TextReport.lines(of: report).first?.hasPrefix("PARTIAL") == true)
    #expect(String(decoding: JSONReport.bytes(of: report), as: UTF8.self).hasPrefix(#"{"partial":true"#))
    #expect(String(decoding: HTMLReport.bytes(of: report), as: UTF8.self).contains("Partial: the run was stopped"))
  }

  @Test("the page needs nothing from elsewhere, and text in it is escaped")
  func page() {
    var report = report([.killRandom, .powerExt4])
    report.engines[0].library = "<b>&"
    var price = Price(engine: "some")
    price.acknowledgementsPerSecond = 1000
    price.p50 = 900
    price.recoveries = [.init(events: 10, bytes: 2000, microseconds: 500), .init(events: 100, bytes: 20_000, microseconds: 900)]
    report.prices = [price]
    let page = String(decoding: HTMLReport.bytes(of: report), as: UTF8.self)
    #expect(page.contains("&lt;b&gt;&amp;") && !page.contains("<b>&"))
    #expect(page.contains("<svg") && !page.contains("http") && !page.contains("<script") && !page.contains("src="))
  }

  @Test(
    "numbers are written with so many digits",
    arguments: [(0.0, 1, "0.0"), (1.25, 1, "1.3"), (0.004, 3, "0.004"), (1234.5, 0, "1235"), (-2.5, 1, "-2.5")])
  func decimal(_ value: Double, _ digits: Int, _ text: String) {
    #expect(Decimal.text(value, digits: digits) == text)
  }

  @Test("kill stands for both ways, power for both file systems, and every fault has a name")
  func names() {
    #expect(Fault.named("kill") == [.killRandom, .killCall])
    #expect(Fault.named("power") == [.powerExt4, .powerXFS])
    for fault in Fault.injected { #expect(Fault.named(fault.rawValue) == [fault]) }
    #expect(Fault.named("plug") == nil)
  }
}
