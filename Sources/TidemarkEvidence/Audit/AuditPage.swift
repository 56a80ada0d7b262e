internal import TidemarkLog
internal import TidemarkText

/// An audit as one page for people: `tidemark audit --html`.
package struct AuditPage {
  private let report: AuditReport
  private let flags: [ClockFlag]

  /// - Parameter flags: what the clock rules remark.
  package init(_ report: AuditReport, flags: [ClockFlag]) {
    self.report = report
    self.flags = flags
  }

  /// More rows of a kind make a page that nobody reads.
  private static let rowLimit = AuditReport.listLimit

  package var bytes: [UInt8] {
    var page = Page("Audit of a log")
    let verdict = report.verdict
    page.body.append("<p class=\"verdict \(verdict.rawValue)\">\(HTML.escaped(report.verdictLine))</p>")
    identity(&page)
    receipts(&page)
    brackets(&page)
    findings(&page, "Gaps", report.findings.filter { $0.kind == .lost || $0.kind == .trimmed })
    corrections(&page)
    findings(&page, "What contradicts, or is missing", report.findings.filter { $0.weight != .notChecked })
    findings(&page, "What was not checked", report.findings.filter { $0.weight == .notChecked && $0.kind != .lost && $0.kind != .trimmed })
    clocks(&page)
    page.heading("What is promised, and what is not")
    page.items(AuditReport.promises)
    return page.bytes
  }

  private func identity(_ page: inout Page) {
    page.heading("Log")
    var rows = [
      ["log", report.identity.logID.hexadecimal], ["epoch", report.identity.epochID.hexadecimal],
      ["made", Page.time(report.identity.created) + " by the device's clock"],
      [
        "offsets",
        "\(Page.range(report.first..<report.head.size)) (\(report.userEventCount) events, \(report.controlEventCount) control events)",
      ],
      ["root", report.head.root.hexadecimal], ["covered by receipts", "\(report.covered)"],
      ["checkpoints signed", "\(report.checkpointCount)"], ["corrections", "\(report.correctionCount) events correct another"],
      ["erasures", report.erasures.isEmpty ? "none" : report.erasures.map { "\($0)" }.joined(separator: ", ")],
    ]
    for entry in report.keys.entries { rows.append(["key from offset \(entry.offset)", entry.publicKey.hexadecimal]) }
    page.table(["", ""], rows)
  }

  private func receipts(_ page: inout Page) {
    page.heading("Receipts")
    guard !report.receipts.isEmpty else { return page.paragraph("No receipt counts.") }
    page.body.append(timeLine)
    page.table(
      ["covers offsets below", "server's time", "signed by", "in the log at"],
      report.receipts.suffix(Self.rowLimit).map { receipt in
        [
          "\(receipt.size)", Page.time(receipt.time), receipt.signers.joined(separator: ", "),
          receipt.offset.map { "\($0)" } ?? "notes only",
        ]
      })
  }

  /// Sizes over the server's time.
  private var timeLine: String {
    let times = report.receipts.map { Double($0.time.nanoseconds) }
    let (low, high) = (times.min() ?? 0, times.max() ?? 0)
    let width = 860.0
    let height = 160.0
    func x(_ time: Double) -> Double { high > low ? 40 + (time - low) / (high - low) * (width - 80) : width / 2 }
    func y(_ size: Offset) -> Double { height - 30 - Double(size) / Double(max(1, report.head.size)) * (height - 50) }
    var points: [String] = []
    var marks = ""
    for receipt in report.receipts {
      let place = (Self.number(x(Double(receipt.time.nanoseconds))), Self.number(y(receipt.size)))
      points.append("\(place.0),\(place.1)")
      marks +=
        "<circle cx=\"\(place.0)\" cy=\"\(place.1)\" r=\"4\" fill=\"#1f7a4d\"><title>"
        + "\(receipt.size), \(Page.time(receipt.time))</title></circle>"
    }
    let line = "<polyline points=\"\(points.joined(separator: " "))\" fill=\"none\" stroke=\"#1f7a4d\" stroke-width=\"1.5\"/>"
    let axis = Self.number(height - 30)
    let end = Self.number(y(report.head.size))
    return """
      <svg viewBox="0 0 \(Int(width)) \(Int(height))" role="img" aria-label="receipts over time">
      <line x1="20" y1="\(axis)" x2="\(Int(width) - 20)" y2="\(axis)" stroke="#9aa7b4"/>
      <line x1="20" y1="\(end)" x2="\(Int(width) - 20)" y2="\(end)" stroke="#9aa7b4" stroke-dasharray="4 4"/>
      <text x="20" y="\(Self.number(y(report.head.size) - 5))" font-size="12" fill="#5b6b7b">size \(report.head.size)</text>
      \(line)\(marks)
      <text x="20" y="\(Int(height) - 8)" font-size="12" fill="#5b6b7b">\(Page.time(report.receipts.map(\.time).min()))</text>
      <text x="\(Int(width) - 20)" y="\(Int(height) - 8)" font-size="12" fill="#5b6b7b" text-anchor="end">
      \(Page.time(report.receipts.map(\.time).max()))</text>
      </svg>
      """
  }

  private static func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

  /// When events were appended, by the server's clock.
  private func brackets(_ page: inout Page) {
    page.heading("When events were appended")
    page.paragraph(
      "By the server's clock, whatever the device's clock said: after the last receipt that stands before them in the log, before the "
        + "first receipt that covers them. Appended, not captured.")
    let rows = report.brackets
    page.table(
      ["offsets", "after", "before"],
      rows.suffix(Self.rowLimit).map { [Page.range($0.offsets), Page.time($0.after), $0.before.map { Page.time($0) } ?? "no receipt yet"] })
    if rows.count > Self.rowLimit { page.paragraph("The last \(Self.rowLimit) of \(rows.count) ranges.") }
  }

  private func findings(_ page: inout Page, _ title: String, _ findings: [AuditFinding]) {
    page.heading(title)
    guard !findings.isEmpty else { return page.paragraph("Nothing.") }
    page.table(
      ["kind", "offsets", "what"],
      findings.prefix(Self.rowLimit).map { [$0.kind.rawValue, $0.offsets.map(Page.range) ?? "", $0.message] })
    if findings.count > Self.rowLimit { page.paragraph("The first \(Self.rowLimit) of \(findings.count).") }
  }

  private func corrections(_ page: inout Page) {
    page.heading("Corrections")
    guard report.correctionCount > 0 else { return page.paragraph("No event corrects another.") }
    page.paragraph("Both stay in the history; values are those of the later one.")
    page.table(["at offset", "stands for the event"], report.corrections.map { ["\($0.offset)", $0.superseded.description] })
    if report.correctionCount > report.corrections.count { page.paragraph("The first of \(report.correctionCount).") }
  }

  private func clocks(_ page: inout Page) {
    page.heading("Clocks")
    page.paragraph("What the clock rules remark about the device's clocks. It changes no event and no verdict.")
    guard !flags.isEmpty else { return page.paragraph("Nothing.") }
    page.table(["offset", "rule", "what"], flags.prefix(Self.rowLimit).map { ["\($0.offset)", $0.rule.rawValue, $0.explanation] })
    if flags.count > Self.rowLimit { page.paragraph("The first \(Self.rowLimit) of \(flags.count).") }
  }
}
