internal import TidemarkText

/// A report as JSON, for programs.
package enum JSONReport {
  package static func bytes(of report: CrashReport) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("partial", report.isPartial)
    json.member("good", report.isGood)
    json.member("seed", report.seed)
    json.member("seconds", report.seconds)
    json.name("environment")
    json.beginObject()
    for (name, value) in report.environment.rows { json.member(name.replacing(" ", with: "_").lowercased(), value) }
    json.endObject()
    json.name("engines")
    json.beginArray()
    for engine in report.engines { add(engine, report, &json) }
    json.endArray()
    json.name("skipped")
    json.beginArray()
    for (fault, why) in report.skipped {
      json.beginObject()
      json.member("fault", fault.rawValue)
      json.member("why", why)
      json.endObject()
    }
    json.endArray()
    json.name("remarks")
    json.beginArray()
    for remark in report.remarks { json.string(remark) }
    json.endArray()
    json.name("results")
    json.beginArray()
    for cell in report.cells { add(cell, report, &json) }
    json.endArray()
    json.endObject()
    return json.bytes + [UInt8(ascii: "\n")]
  }

  private static func add(_ engine: CrashReport.Engine, _ report: CrashReport, _ json: inout JSONWriter) {
    json.beginObject()
    json.member("name", engine.name)
    json.member("claims", engine.claim.rawValue)
    if !engine.library.isEmpty { json.member("library", engine.library) }
    json.name("verdicts")
    json.beginArray()
    for line in report.verdicts(engine.name) { json.string(line) }
    json.endArray()
    if let price = report.prices.first(where: { $0.engine == engine.name }) {
      json.member("acknowledgements_per_second", price.acknowledgementsPerSecond)
      json.member("latency_p50_us", price.p50)
      json.member("latency_p99_us", price.p99)
      json.member("latency_p999_us", price.p999)
      json.name("recoveries")
      json.beginArray()
      for recovery in price.recoveries {
        json.beginObject()
        json.member("events", recovery.events)
        json.member("bytes", recovery.bytes)
        json.member("us", recovery.microseconds)
        json.endObject()
      }
      json.endArray()
    }
    json.endObject()
  }

  private static func add(_ cell: Cell, _ report: CrashReport, _ json: inout JSONWriter) {
    json.beginObject()
    json.member("fault", cell.fault.rawValue)
    json.member("engine", cell.engine)
    json.member("control", cell.isControl)
    json.member("claimed", cell.isClaimed)
    json.member("control_lost", report.controlLost(cell.fault))
    let counts = [
      ("injections", cell.injections), ("at_risk", cell.atRisk), ("lost", cell.lost), ("worst_lost", cell.worstLost),
      ("injections_with_loss", cell.injectionsWithLoss), ("retracted", cell.retracted), ("withheld", cell.withheld),
      ("phantoms", cell.phantoms), ("damaged", cell.damaged),
      ("duplicates", cell.duplicates), ("gaps", cell.gaps), ("disordered", cell.disordered), ("torn_batches", cell.tornBatches),
      ("unopenable", cell.unopenable), ("violations", cell.violations), ("file_system_failures", cell.fileSystemFailures),
      ("engine_errors", cell.writerErrors),
    ]
    for (name, count) in counts { json.member(name, count) }
    if cell.fault == .killCall { json.member("whole_workloads", cell.wholeWorkloads) }
    json.member("worst_window_us", cell.worstWindowMicroseconds)
    if let bound = cell.bound { json.member("bound_95", bound) }
    if let median = cell.recoveryMicroseconds.percentile(0.5) { json.member("recovery_p50_us", median) }
    if let most = cell.recoveryMicroseconds.max() { json.member("recovery_max_us", most) }
    json.member("seconds", cell.seconds)
    if let flushes = cell.traffic.flushesPerAcknowledgement { json.member("flushes_per_acknowledgement", flushes) }
    if let bytes = cell.traffic.writtenPerByte { json.member("bytes_written_per_byte", bytes) }
    if !cell.firstWriterError.isEmpty { json.member("first_engine_error", cell.firstWriterError) }
    if let stopped = cell.stopped { json.member("stopped", stopped) }
    json.name("complaints")
    json.beginArray()
    for complaint in cell.complaints { json.string(complaint) }
    json.endArray()
    json.name("timeline")
    json.beginArray()
    for point in cell.timeline {
      json.beginArray()
      json.number(point.microseconds)
      json.number(point.event)
      json.bool(point.isKept)
      json.endArray()
    }
    json.endArray()
    json.endObject()
  }
}

extension JSONWriter {
  /// A number with at most six digits behind the point.
  fileprivate mutating func member(_ name: String, _ value: Double) {
    self.name(name)
    let text = Decimal.text(value, digits: 6)
    let bytes = Array(text.utf8)
    self.value(bytes.span)
  }
}

/// Numbers as text, without a formatter.
package enum Decimal {
  /// Rounded to so many digits behind the point.
  package static func text(_ value: Double, digits: Int) -> String {
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    guard value.isFinite, abs(value) < 1e12, let whole = Int64(exactly: (abs(value) * scale).rounded()) else { return "0" }
    let sign = value < 0 && whole > 0 ? "-" : ""
    guard digits > 0 else { return sign + String(whole) }
    let text = String(whole)
    let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
    return sign + padded.dropLast(digits) + "." + padded.suffix(digits)
  }
}
