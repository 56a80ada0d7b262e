/// A report for the terminal.
package enum TextReport {
  package static func lines(of report: CrashReport) -> [String] {
    var lines: [String] = []
    if report.isPartial { lines += ["PARTIAL: the run was stopped; what follows is as far as it came", ""] }
    lines += table(report.environment.rows.map { [$0.0, $0.1] })
    for (fault, why) in report.skipped { lines.append("skipped: \(fault.title) (\(fault.rawValue)): \(why)") }
    lines += report.remarks
    if !report.prices.isEmpty {
      lines += ["", "What acknowledgements cost here, one event each (microseconds from one to the next):", ""]
      lines += table(
        [["engine", "claims", "acks/s", "p50", "p99", "p99.9", "flushes/ack", "written/byte"]]
          + report.prices.map { price in
            let traffic = report.cell(price.engine, .replay)?.traffic
            return [
              price.engine, report.engines.first { $0.name == price.engine }?.claim.rawValue ?? "",
              Decimal.text(price.acknowledgementsPerSecond, digits: 0),
              Decimal.text(price.p50, digits: 1), Decimal.text(price.p99, digits: 1), Decimal.text(price.p999, digits: 1),
              traffic?.flushesPerAcknowledgement.map { Decimal.text($0, digits: 2) } ?? "-",
              traffic?.writtenPerByte.map { Decimal.text($0, digits: 1) } ?? "-",
            ]
          })
    }
    for fault in Fault.allCases {
      let cells = report.cells.filter { $0.fault == fault }
      if !cells.isEmpty { lines += self.lines(fault, cells, report) }
    }
    lines += ["", "Verdicts:", ""]
    for engine in report.engines { lines.append("  \(engine.name): \(report.verdicts(engine.name).joined(separator: "; "))") }
    // Of plug pulls neither says anything.
    if report.seconds > 0 { lines += ["", "seed \(report.seed), \(Decimal.text(report.seconds, digits: 0)) s"] }
    return lines
  }

  private static func lines(_ fault: Fault, _ cells: [Cell], _ report: CrashReport) -> [String] {
    var lines = ["", "\(fault.title)\(report.controlLost(fault) ? "" : " (no verdict: the control lost nothing)"):", ""]
    lines += table([head] + cells.map(row))
    for cell in cells where !cell.isControl {
      for complaint in cell.complaints.prefix(3) { lines.append("  \(cell.engine): \(complaint)") }
    }
    for cell in cells {
      if let remark = remark(cell) { lines.append("  \(cell.engine): \(remark)") }
      if cell.fileSystemFailures > 0 {
        lines.append("  \(cell.engine): \(cell.fileSystemFailures) images that the file system itself refused")
      }
      if cell.withheld > 0 {
        lines.append("  \(cell.engine): \(cell.withheld) events not shown while the disk was full; see lost for those that stayed away")
      }
      if let stopped = cell.stopped { lines.append("  \(cell.engine): stopped early: \(stopped)") }
    }
    return lines
  }

  /// How much of a fault that visits calls one by one was done.
  static func remark(_ cell: Cell) -> String? {
    guard cell.fault == .killCall else { return nil }
    return cell.wholeWorkloads == 0
      ? "no workload was killed at each of its calls: it takes more injections"
      : "\(cell.wholeWorkloads) \(cell.wholeWorkloads == 1 ? "workload" : "workloads") killed at each call"
  }

  /// The columns of a fault's table.
  static let head = [
    "engine", "injections", "at risk", "lost", "worst", "bound", "served+gone", "phantom", "bad", "twice", "gaps", "torn", "unopenable",
    "recovery us",
  ]

  /// A line of a fault's table.
  static func row(_ cell: Cell) -> [String] {
    [
      cell.engine + (cell.isControl ? " (must lose)" : cell.isClaimed ? "" : " (no claim)"), "\(cell.injections)", "\(cell.atRisk)",
      "\(cell.lost)",
      cell.worstWindowMicroseconds == 0
        ? "\(cell.worstLost)" : "\(cell.worstLost) in \(Decimal.text(Double(cell.worstWindowMicroseconds) / 1000, digits: 1)) ms",
      cell.bound.map { "< " + Decimal.text($0 * 100, digits: 2) + " %" } ?? "-", "\(cell.retracted)", "\(cell.phantoms)", "\(cell.damaged)",
      "\(cell.duplicates)", "\(cell.gaps + cell.disordered)", "\(cell.tornBatches)", "\(cell.unopenable)",
      cell.recoveryMicroseconds.percentile(0.5).map(String.init) ?? "-",
    ]
  }

  /// One line for machines on each fault: its layer, and the sum over the engines.
  package static func layerLines(of report: CrashReport) -> [String] {
    var lines: [String] = []
    for (fault, why) in report.skipped {
      lines.append("layer=\(fault.layer.name)\(fault.layer.fileSystem.map { " fs=\($0)" } ?? "") skipped=\(why.replacing(" ", with: "-"))")
    }
    lines += report.remarks
    for fault in Fault.allCases {
      let cells = report.cells.filter { $0.fault == fault && !$0.isControl }
      guard !cells.isEmpty else { continue }
      func sum(_ path: KeyPath<Cell, Int>) -> Int { cells.reduce(0) { $0 + $1[keyPath: path] } }
      let control = report.cells.first { $0.fault == fault && $0.isControl }
      let seconds = report.cells.filter { $0.fault == fault }.reduce(0) { $0 + $1.seconds }
      var line = "layer=\(fault.layer.name)"
      if let name = fault.layer.fileSystem { line += " fs=\(name)" }
      line += " states=\(sum(\.injections)) violations=\(sum(\.violations)) acknowledged=\(sum(\.atRisk)) lost=\(sum(\.lost))"
      line += " unopenable=\(sum(\.unopenable)) unmountable=\(sum(\.fileSystemFailures)) engine_errors=\(sum(\.writerErrors))"
      line += " control_states=\(control?.injections ?? 0) control_lost=\(control?.lost ?? 0) seed=\(report.seed)"
      line += " engines=\(cells.map(\.engine).joined(separator: ",")) seconds=\(Decimal.text(seconds, digits: 1))"
      if fault == .killCall { line += " whole_workloads=\(sum(\.wholeWorkloads))" }
      if report.isPartial { line += " partial=yes" }
      lines.append(line)
      for cell in cells {
        for complaint in cell.complaints { lines.append("  violation \(cell.engine): \(complaint)") }
        if let stopped = cell.stopped { lines.append("  stopped \(cell.engine): \(stopped)") }
      }
      if let stopped = control?.stopped { lines.append("  stopped control: \(stopped)") }
    }
    return lines
  }

  /// Columns, numbers to the right.
  static func table(_ rows: [[String]]) -> [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    return rows.map { row in
      var line = " "
      for (column, text) in row.enumerated() {
        let space = String(repeating: " ", count: widths[column] - text.count)
        line += " " + (column == 0 || columns == 2 ? text + space : space + text)
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
