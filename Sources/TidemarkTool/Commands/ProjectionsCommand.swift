import TidemarkLog
import TidemarkProjections
import TidemarkText

enum ProjectionsCommand {
  static let description = CommandDescription(
    "projections", "list the saved values of projections", arguments: [.log], options: [.json],
    notes: [
      "offset: all events below it are in the value. behind: how many offsets the log has since. written: when the file was saved. "
        + "bytes: its size. Snapshots are caches: each may be deleted while nothing was trimmed."
    ],
    examples: [.init("tidemark projections captures", "what was saved, how old and how large it is")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let log = try Log.openForReading(at: arguments.logPath)
    defer { try? log.close() }
    let snapshots = try log.savedSnapshots()
    if arguments.isSet("json") {
      for snapshot in snapshots { output.line(json(snapshot, log.size)) }
      return .success
    }
    let width = snapshots.reduce(10) { max($0, $1.name.count) }
    output.line(row(["projection", "offset", "behind", "written", "bytes"], width))
    for snapshot in snapshots {
      let cells = [
        snapshot.name, "\(snapshot.position)", "\(behind(snapshot, log.size))", written(snapshot) ?? "-", "\(snapshot.byteCount)",
      ]
      output.line(row(cells, width) + note(snapshot))
    }
    return .success
  }

  private static func note(_ snapshot: SavedSnapshot) -> String {
    if let trouble = snapshot.trouble { return "  can't be used: \(trouble)" }
    return snapshot.missingBelow > 0 ? "  lacks all events below offset \(snapshot.missingBelow)" : ""
  }

  private static func behind(_ snapshot: SavedSnapshot, _ size: Offset) -> Offset { size - min(size, snapshot.position) }

  private static func written(_ snapshot: SavedSnapshot) -> String? {
    System.modificationTime(snapshot.path).map { RFC3339.format(nanoseconds: $0 * 1_000_000_000, fractionDigits: 0) }
  }

  private static func row(_ cells: [String], _ width: Int) -> String {
    let widths = [width, -12, -12, 20, -12]
    return zip(cells, widths).map { cell, width in
      let space = String(repeating: " ", count: max(0, abs(width) - cell.count))
      return width < 0 ? space + cell : cell + space
    }.joined(separator: "  ")
  }

  private static func json(_ snapshot: SavedSnapshot, _ size: Offset) -> JSONWriter {
    var json = JSONWriter()
    json.beginObject()
    json.member("projection", snapshot.name)
    json.member("offset", snapshot.position)
    json.member("behind", behind(snapshot, size))
    if let written = written(snapshot) { json.member("written", written) }
    json.member("bytes", snapshot.byteCount)
    if let version = snapshot.version { json.member("version", UInt64(version)) }
    if let time = snapshot.latestTime {
      json.member("latest_event", RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: 9))
    }
    json.member("path", snapshot.path)
    if snapshot.missingBelow > 0 { json.member("missing_below", snapshot.missingBelow) }
    if let trouble = snapshot.trouble { json.member("trouble", trouble) }
    json.endObject()
    return json
  }
}
