import TidemarkCrash
import TidemarkText

/// The kinds of append that are measured.
package enum BenchPart: String, CaseIterable {
  case rawLimit = "raw_limit"
  case oneWriter = "one_writer"
  case batches = "batches_of_100"
  case writers = "writers_16"
  case written = "written_batches_of_1000"

  package var title: String {
    switch self {
    case .rawLimit: "raw limit: write and sync"
    case .oneWriter: "one writer, one event a commit"
    case .batches: "batches of 100"
    case .writers: "16 writers, one event a commit"
    case .written: "`.written` batches of 1,000"
    }
  }

  package var survives: String { self == .written ? "end of process" : "power cut" }
}

/// What one part took.
package struct BenchFigures {
  /// Events that were acknowledged; of the raw limit, writes of as many bytes as one event takes.
  package var eventCount = 0
  package var appendCount = 0
  /// How long the whole of it took.
  package var nanoseconds: UInt64 = 0
  /// The median of what calls of `append` took, in nanoseconds.
  package var p50: UInt64 = 0
  package var p99: UInt64 = 0
  package var longest: UInt64 = 0

  package init(
    eventCount: Int = 0, appendCount: Int = 0, nanoseconds: UInt64 = 0, p50: UInt64 = 0, p99: UInt64 = 0, longest: UInt64 = 0
  ) {
    self.eventCount = eventCount
    self.appendCount = appendCount
    self.nanoseconds = nanoseconds
    self.p50 = p50
    self.p99 = p99
    self.longest = longest
  }

  package var eventsPerSecond: Double { Double(eventCount) * 1e9 / Double(max(nanoseconds, 1)) }
  package var appendsPerSecond: Double { Double(appendCount) * 1e9 / Double(max(nanoseconds, 1)) }
}

/// All that `bench` found out.
package struct BenchReport {
  package var directory: String
  package var seconds: UInt64
  package var fileSystem: String
  package var device: String
  package var writeCache: String
  package var freeByteCount: UInt64?
  /// The median of the raw limit's syncs alone.
  package var medianSyncNanoseconds: UInt64 = 0
  package var figures: [BenchPart: BenchFigures] = [:]

  package init(directory: String, seconds: UInt64, fileSystem: String = "", device: String = "", writeCache: String = "") {
    self.directory = directory
    self.seconds = seconds
    self.fileSystem = fileSystem
    self.device = device
    self.writeCache = writeCache
  }

  subscript(part: BenchPart) -> BenchFigures { figures[part] ?? BenchFigures() }

  /// For people.
  var lines: [String] {
    let facts = [
      ("directory", directory), ("file system", fileSystem), ("device", device), ("write cache", writeCache),
      ("free", freeByteCount.map { "\($0 >> 20) MiB" } ?? ""), ("sync alone", milliseconds(medianSyncNanoseconds) + " ms (median)"),
    ]
    var lines = facts.filter { !$0.1.isEmpty }.map { $0.0 + String(repeating: " ", count: 13 - $0.0.count) + $0.1 }
    let rows =
      [["events of \(AppendBench.eventByteCount) bytes", "events/s", "appends/s", "p50 ms", "p99 ms", "longest ms", "survives"]]
      + BenchPart.allCases.map { part in
        let figures = self[part]
        return [
          part.title, Decimal.text(figures.eventsPerSecond, digits: 0), Decimal.text(figures.appendsPerSecond, digits: 0),
          milliseconds(figures.p50), milliseconds(figures.p99), milliseconds(figures.longest), part.survives,
        ]
      }
    let widths = rows[0].indices.map { column in rows.reduce(0) { max($0, $1[column].count) } }
    lines.append("")
    for row in rows {
      let cells = row.indices.map { column in
        let fill = String(repeating: " ", count: widths[column] - row[column].count)
        return column == 0 ? row[column] + fill : column == row.count - 1 ? row[column] : fill + row[column]
      }
      lines.append(cells.joined(separator: "  "))
    }
    lines += [
      "", "p50, p99 and longest are of single calls. A power cut may take `.written` events that were not synced since: compare only.", "",
    ]
    let advice = BenchAdvice.from(self)
    return lines + (advice.isEmpty ? ["Nothing to advise."] : advice.map(\.text))
  }

  /// For programs. Times are nanoseconds.
  var json: JSONWriter {
    var json = JSONWriter()
    json.beginObject()
    json.member("directory", directory)
    json.member("file_system", fileSystem)
    json.member("device", device)
    json.member("write_cache", writeCache)
    if let freeByteCount { json.member("free_bytes", freeByteCount) }
    json.member("seconds", seconds)
    json.member("event_bytes", AppendBench.eventByteCount)
    json.member("sync_p50", medianSyncNanoseconds)
    json.name("parts")
    json.beginArray()
    for part in BenchPart.allCases {
      let figures = self[part]
      json.beginObject()
      json.member("name", part.rawValue)
      json.member("survives", part.survives)
      json.member("events", figures.eventCount)
      json.member("appends", figures.appendCount)
      json.member("duration", figures.nanoseconds)
      json.member("p50", figures.p50)
      json.member("p99", figures.p99)
      json.member("longest", figures.longest)
      json.endObject()
    }
    json.endArray()
    json.name("advice")
    json.beginArray()
    for advice in BenchAdvice.from(self) {
      json.beginObject()
      json.member("rule", advice.rule.rawValue)
      json.member("text", advice.text)
      json.endObject()
    }
    json.endArray()
    json.endObject()
    return json
  }

  private func milliseconds(_ nanoseconds: UInt64) -> String { Decimal.text(Double(nanoseconds) / 1e6, digits: 3) }
}
