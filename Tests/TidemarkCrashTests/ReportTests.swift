import Testing
import TidemarkCrash

@Suite("Reports of a crash test")
struct ReportTests {
  private let engine = Subject(name: "some", claim: .power, library: "1.2", program: "some")
  private let control = Subject(name: Fault.kill.control.rawValue, claim: .process, library: "", isControl: true, program: "control")

  private func report(_ faults: [Fault], lost: Int = 0, controlLost: Int = 3) -> CrashReport {
    var report = CrashReport(environment: EnvironmentFacts(), seed: 7)
    report.engines = [.init(name: "some", claim: .power, library: "1.2")]
    for fault in faults {
      let wrong = Subject(name: fault.control.rawValue, claim: .power, library: "", isControl: true, program: "control")
      var bad = Cell(wrong, fault)
      (bad.injections, bad.lost) = (20, controlLost)
      var good = Cell(engine, fault)
      (good.injections, good.lost, good.injectionsWithLoss) = (300, lost, lost)
      good.violations = lost
      report.cells += [bad, good]
    }
    return report
  }

  @Test("the word durable is said only of one that was clean under all power cuts")
  func durable() {
    let all: [Fault] = [.kill, .powerExt4, .powerXFS, .replay]
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
    #expect(report([.kill]).verdicts("some") == ["process-crash safe", "OS crashes: not tested", "drive cache: not tested"])
  }

  @Test("a fault whose control lost nothing gives no verdict, and the run is not good")
  func noVerdict() {
    let report = report([.kill, .powerExt4], controlLost: 0)
    #expect(
      report.verdicts("some").prefix(2) == [
        "process crashes: no verdict, the control lost nothing", "OS crashes: no verdict, a control lost nothing",
      ])
    #expect(!report.isGood)
    #expect(self.report([.kill]).isGood)
  }

  @Test("zero of N means below 3/N; any loss gives no bound")
  func bound() throws {
    let clean = try #require(report([.kill]).cell("some", .kill))
    #expect(clean.bound == 0.01)
    #expect(report([.kill], lost: 2).cell("some", .kill)?.bound == nil)
  }

  @Test("a skipped fault is one line, for people and for machines")
  func skipped() {
    var report = report([.kill])
    report.skipped = [(.powerXFS, "mkfs.xfs is not installed")]
    #expect(TextReport.lines(of: report).contains("skipped: power cut, XFS (power-xfs): mkfs.xfs is not installed"))
    #expect(TextReport.layerLines(of: report).contains("layer=power fs=xfs skipped=mkfs.xfs-is-not-installed"))
    #expect(
      String(decoding: JSONReport.bytes(of: report), as: UTF8.self).contains(
        #""skipped":[{"fault":"power-xfs","why":"mkfs.xfs is not installed"}]"#))
  }

  @Test("a partial report says so everywhere")
  func partial() {
    var report = report([.kill])
    report.isPartial = true
    #expect(TextReport.lines(of: report).first?.hasPrefix("PARTIAL") == true)
    #expect(String(decoding: JSONReport.bytes(of: report), as: UTF8.self).hasPrefix(#"{"partial":true"#))
    #expect(String(decoding: HTMLReport.bytes(of: report), as: UTF8.self).contains("Partial: the run was stopped"))
  }

  @Test("the page needs nothing from elsewhere, and text in it is escaped")
  func page() {
    var report = report([.kill, .powerExt4])
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

  @Test("power stands for both file systems, and every fault has a name")
  func names() {
    #expect(Fault.named("power") == [.powerExt4, .powerXFS])
    for fault in Fault.allCases { #expect(Fault.named(fault.rawValue) == [fault]) }
    #expect(Fault.named("plug") == nil)
  }
}
