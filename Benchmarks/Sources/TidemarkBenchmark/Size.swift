import BenchmarkSupport
import CBaseline
import TidemarkLog

/// Reads a line of five fields divided by tabs: id, type, subject or nothing, time in nanoseconds since 1970, data.
private func parse(_ line: ArraySlice<UInt8>) throws -> NewEvent {
  let fields = line.split(separator: UInt8(ascii: "\t"), maxSplits: 4, omittingEmptySubsequences: false)
  guard fields.count == 5, let id = EventID(String(decoding: fields[0], as: UTF8.self)),
    let nanoseconds = Int64(String(decoding: fields[3], as: UTF8.self))
  else {
    throw BenchmarkFailure(description: "not a departure: \(String(decoding: line, as: UTF8.self))")
  }
  let subject = String(decoding: fields[2], as: UTF8.self)
  return NewEvent(
    type: String(decoding: fields[1], as: UTF8.self), subject: subject.isEmpty ? nil : subject,
    time: Timestamp(nanoseconds: nanoseconds), timeFractionDigits: 0, id: id, data: Array(fields[4]))
}

/// What a year of departures takes on disk, sealed, against the same in an outbox table of SQLite.
func measureSize(_ bench: Bench) throws -> [Measurement] {
  guard let file = bench.departures else { throw Skipped(reason: "no departures were given") }
  guard let outbox = bench.outboxByteCount else { throw Skipped(reason: "the outbox table was not measured") }
  let lines = try readFile(file).split(separator: UInt8(ascii: "\n"))
  let path = try bench.fresh("size")
  try Log.create(at: path)
  let log = try Log.open(at: path)
  var eventByteCount = 0
  var start = 0
  while start < lines.count {
    let batch = try lines[start..<min(start + 1000, lines.count)].map(parse)
    eventByteCount += batch.reduce(0) { $0 + $1.data.count }
    try log.append(batch, durability: .written)
    start += batch.count
  }
  try log.seal()
  try log.close()
  let open = try check(baseline_file_byte_count(path + "/segments", ".open"), "sizing the log")
  let sealed = try check(baseline_file_byte_count(path + "/segments", ".sealed"), "sizing the log")
  let index = max(0, baseline_file_byte_count(path + "/index", ".ids"))
  try bench.remove(path)
  let perEvent = { (bytes: Int64) in decimal(Double(bytes) / Double(lines.count)) }
  var result = [
    Measurement(
      group: "size", name: "sealed departures and their id index against an outbox table in SQLite",
      samples: [Double(sealed + index) / Double(outbox)], target: .atMost(0.4),
      note: "\(lines.count) events; bytes an event: \(perEvent(sealed)) sealed, \(perEvent(index)) merged index, "
        + "\(perEvent(Int64(outbox))) in SQLite; data alone \(perEvent(Int64(eventByteCount))); "
        + "open segment \(open) bytes; a size, so one sample")
  ]
  if let vacuumed = bench.vacuumedByteCount {
    result.append(Measurement(group: "size", name: "against that table after VACUUM", samples: [Double(sealed + index) / Double(vacuumed)]))
  }
  return result
}
