internal import TidemarkText

/// A report as one page that needs nothing else: no script, no font, no picture from elsewhere.
package enum HTMLReport {
  package static func bytes(of report: CrashReport) -> [UInt8] {
    var body = ["<h1>Crash test</h1>"]
    if report.isPartial { body.append("<p class=\"partial\">Partial: the run was stopped; this is as far as it came.</p>") }
    let isPulled = report.cells.contains { $0.fault == .plug }
    let cache = isPulled ? "see the verdicts." : "<b>not tested</b> (only pulling the plug does that)."
    body.append("<p>What acknowledged events survive here, by \(isPulled ? "plug pulls" : "fault injection"). Drive cache: \(cache)</p>")
    body += verdicts(report)
    body += invariants(report)
    body += plots(report)
    body += faults(report)
    body += environment(report)
    let page = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
      <title>Crash test</title>
      <style>\(style)</style></head>
      <body>
      \(body.joined(separator: "\n"))
      </body></html>

      """
    return Array(page.utf8)
  }

  private static func verdicts(_ report: CrashReport) -> [String] {
    var lines = ["<h2>Verdicts</h2>", "<div class=\"scroll\"><table><tr><th>engine<th>claims to survive<th>verdicts"]
    for engine in report.engines {
      let version = engine.library.isEmpty ? "" : " <small>\(HTML.escaped(engine.library))</small>"
      let words = report.verdicts(engine.name).map(HTML.escaped).joined(separator: "; ")
      lines.append("<tr><td>\(HTML.escaped(engine.name))\(version)<td>\(claim(engine.claim))<td>\(words)")
    }
    lines.append("</table></div>")
    for (fault, why) in report.skipped { lines.append("<p class=\"note\">Skipped: \(fault.title): \(HTML.escaped(why))</p>") }
    for remark in report.remarks { lines.append("<p class=\"note\">\(HTML.escaped(remark))</p>") }
    return lines
  }

  private static func claim(_ claim: Claim) -> String {
    switch claim {
    case .power: "power cuts"
    case .process: "process crashes"
    case .none: "nothing"
    }
  }

  /// Engines against invariants.
  private static func invariants(_ report: CrashReport) -> [String] {
    let faults = Fault.allCases.filter { fault in report.cells.contains { $0.fault == fault } }
    guard !faults.isEmpty else { return [] }
    var lines = [
      "<h2>Engines against invariants</h2>",
      "<p>Under each fault: acknowledged events kept (K), nothing false (F: no phantoms, no wrong content), nothing twice or out of "
        + "order (O), no gaps (G), batches whole (B), always openable (R). A letter in red is broken; grey where nobody "
        + "claims it or the fault's control lost nothing.</p>",
      "<div class=\"scroll\"><table class=\"matrix\"><tr><th>engine" + faults.map { "<th>\($0.title)" }.joined(),
    ]
    for engine in report.engines {
      var row = "<tr><td>\(HTML.escaped(engine.name))"
      for fault in faults { row += "<td>" + (report.cell(engine.name, fault).map { letters($0, report) } ?? "not tested") }
      lines.append(row)
    }
    lines.append("</table></div>")
    return lines
  }

  private static func letters(_ cell: Cell, _ report: CrashReport) -> String {
    guard cell.injections > 0 else { return "not tested" }
    let isBelieved = report.controlLost(cell.fault)
    let checks = [
      ("K", cell.lost == 0, cell.isClaimed), ("F", cell.phantoms + cell.damaged == 0, true),
      ("O", cell.duplicates + cell.disordered == 0, true),
      ("G", cell.gaps == 0, true), ("B", cell.tornBatches == 0, true), ("R", cell.unopenable == 0, true),
    ]
    return checks.map { letter, holds, isClaimed in
      let kind = holds ? (isBelieved ? "good" : "grey") : (isClaimed ? "bad" : "grey")
      let title = holds ? "held" : isClaimed ? "broken" : "broken, not claimed"
      return "<span class=\"\(kind)\" title=\"\(title)\">\(holds ? letter : "\(letter)&#x2717;")</span>"
    }.joined(separator: " ")
  }

  private static func plots(_ report: CrashReport) -> [String] {
    var lines: [String] = []
    let priced = report.prices.filter { $0.acknowledgementsPerSecond > 0 }
    if !priced.isEmpty {
      let guarantees = ["nothing", "process crashes", "OS crashes"]
      let series = priced.enumerated().map { index, price in
        Plot.Series(
          name: price.engine, color: Plot.colors[index % Plot.colors.count],
          points: [(max(price.p50, 0.1), guarantee(price.engine, report) + spread(index, priced.count))],
          labels: [price.engine])
      }
      lines += ["<h2>What a guarantee costs</h2>", "<figure>"]
      lines.append(
        Plot(
          title: "Latency against what was seen to survive", xTitle: "median time from one acknowledgement to the next, microseconds",
          yTitle: "",
          xScale: .logarithmic, series: series, yNames: guarantees
        ).svg)
      lines.append("</figure>")
      let recoveries = priced.enumerated().filter { !$0.element.recoveries.isEmpty }.map { index, price in
        Plot.Series(
          name: price.engine, color: Plot.colors[index % Plot.colors.count],
          points: price.recoveries.map { (max(1, Double($0.bytes)), max(0.001, Double($0.microseconds) / 1000)) }, isLine: true)
      }
      if !recoveries.isEmpty {
        lines += ["<h2>Recovery</h2>", "<figure>"]
        lines.append(
          Plot(
            title: "Time to open after kill -9", xTitle: "bytes in the store", yTitle: "milliseconds", xScale: .logarithmic,
            yScale: .logarithmic,
            series: recoveries
          ).svg)
        lines.append("</figure>")
      }
    }
    lines += timelines(report)
    return lines
  }

  /// What was seen to survive: 0 nothing, 1 process crashes, 2 OS crashes.
  private static func guarantee(_ engine: String, _ report: CrashReport) -> Double {
    let power = [Fault.powerExt4, .powerXFS, .replay].map { report.answer(engine, $0) }
    if power.contains(.clean), !power.contains(where: { $0 == .loses || $0 == .notWhole || $0 == .noVerdict }) { return 2 }
    let kill = [Fault.killRandom, .killCall].map { report.answer(engine, $0) }
    return kill.contains(.clean) && kill.allSatisfy { $0 == .clean || $0 == .notTested } ? 1 : 0
  }

  /// So that points of the same height do not hide each other.
  private static func spread(_ index: Int, _ count: Int) -> Double { (Double(index) / Double(max(1, count - 1)) - 0.5) * 0.7 }

  /// The worst injection of each engine and fault that lost something, and one that did not for each fault.
  private static func timelines(_ report: CrashReport) -> [String] {
    let shown = report.cells.filter { cell in
      !cell.timeline.isEmpty && (cell.lost > 0 || cell.engine == report.engines.first?.name)
    }
    guard !shown.isEmpty else { return [] }
    var lines = [
      "<h2>Acknowledgements over time</h2>", "<p>One writer each: the one that lost most, or the first one if none lost any.</p>",
    ]
    for cell in shown.prefix(24) {
      let kept = cell.timeline.filter(\.isKept).map { (Double($0.microseconds) / 1000, Double($0.event)) }
      let lost = cell.timeline.filter { !$0.isKept }.map { (Double($0.microseconds) / 1000, Double($0.event)) }
      lines.append("<figure>")
      lines.append(
        Plot(
          title: "\(cell.engine)\(cell.isControl ? " (wrong on purpose)" : ""): \(cell.fault.title)",
          xTitle: "milliseconds since the writer's start",
          yTitle: "event",
          series: [.init(name: "kept", color: "#2e7d32", points: kept), .init(name: "lost", color: "#c62828", points: lost)]
        ).svg)
      lines.append("</figure>")
    }
    return lines
  }

  private static func faults(_ report: CrashReport) -> [String] {
    var lines = ["<h2>Faults</h2>"]
    for fault in Fault.allCases {
      let cells = report.cells.filter { $0.fault == fault }
      guard !cells.isEmpty else { continue }
      lines.append(
        "<h3>\(fault.title)\(report.controlLost(fault) ? "" : ": no verdict, the control lost nothing")</h3><div class=\"scroll\"><table>")
      lines.append("<tr>" + TextReport.head.map { "<th>\($0)" }.joined())
      for cell in cells {
        lines.append("<tr\(cell.isControl ? " class=\"control\"" : "")>" + TextReport.row(cell).map { "<td>\(HTML.escaped($0))" }.joined())
      }
      lines.append("</table></div>")
      let complaints = cells.filter { !$0.isControl }.flatMap { cell in cell.complaints.prefix(3).map { "\(cell.engine): \($0)" } }
      for cell in cells {
        if let remark = TextReport.remark(cell) { lines.append("<p class=\"note\">\(HTML.escaped("\(cell.engine): \(remark)"))</p>") }
      }
      if !complaints.isEmpty { lines.append("<ul>" + complaints.map { "<li>\(HTML.escaped($0))" }.joined() + "</ul>") }
    }
    return lines
  }

  private static func environment(_ report: CrashReport) -> [String] {
    var lines = ["<h2>Environment</h2>", "<table>"]
    for (name, value) in report.environment.rows { lines.append("<tr><th>\(name)<td>\(HTML.escaped(value))") }
    lines.append("<tr><th>seed<td>\(report.seed)<tr><th>seconds<td>\(Decimal.text(report.seconds, digits: 0))</table>")
    return lines
  }

  private static let style = """
    body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
    h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}h3{font-size:1rem;margin:1.4rem 0 .3rem}
    table{border-collapse:collapse;font-size:.86rem}th,td{padding:.25rem .6rem;text-align:left;vertical-align:top}
    th,td{border-bottom:1px solid #ddd}
    td:not(:first-child){font-variant-numeric:tabular-nums}.matrix td{white-space:nowrap}.scroll{overflow-x:auto}
    .control td{color:#666;font-style:italic}.partial{background:#fff3cd;padding:.5rem 1rem}.note,small{color:#555}
    .good{color:#1b6e2a}.bad{color:#fff;background:#b71c1c;padding:0 .2rem;border-radius:2px}.grey{color:#888}
    figure{margin:1rem 0}svg{width:100%;height:auto;font:12px system-ui,sans-serif}
    .axis{stroke:#333}.grid{stroke:#e6e6e6}.tick{fill:#444;font-size:11px}.axis-title{fill:#222;font-size:12px}
    .plot-title{font-size:14px;font-weight:600;fill:#111}.label{fill:#222;font-size:12px}
    """
}
