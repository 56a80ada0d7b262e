import TestSupport
import TidemarkLog

extension DiskImage {
  /// What is in the log's directory, frame by frame: for people who look for the reason of a violation.
  func description() -> [String] {
    var lines: [String] = []
    let disk = SimulatedDisk(self)
    for path in files(under: Driver.path) {
      lines.append("\(path): \(contents(of: path)?.count ?? 0) bytes")
      guard path.hasSuffix(".open") || path.hasSuffix(".sealed") else { continue }
      try? SegmentDump.describe(path, disk) { entry in
        let fields = entry.fields.filter { !["log", "epoch", "segment", "codec", "raw", "file_digest"].contains($0.name) }
        lines.append("  \(entry.position): \(entry.kind) " + fields.map { "\($0.name)=\($0.value)" }.joined(separator: " "))
      }
    }
    return lines
  }
}

extension Calls {
  var text: String {
    let names: [(Calls, String)] = [
      (.open, "open"), (.create, "create"), (.list, "list"), (.status, "status"), (.makeDirectory, "make directory"), (.rename, "rename"),
      (.remove, "remove"), (.syncDirectory, "sync directory"), (.lock, "lock"), (.sharedPage, "shared page"), (.read, "read"),
      (.write, "write"),
      (.sync, "sync"), (.byteCount, "byte count"), (.makeReadOnly, "make read-only"),
    ]
    let held = names.filter { contains($0.0) }.map(\.1)
    return held.isEmpty ? "the end" : held.joined(separator: " or ")
  }
}
