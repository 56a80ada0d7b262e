package import TidemarkEvidence
package import TidemarkLog

/// Removes a log that its device signs out of.
package enum LogErasure {
  /// Throws `LogError.Code.unsentEvents` if events of a caller lie behind what the server has accepted, or files are here that it has not
  /// signed for.
  package static func check(_ evidence: Evidence, discardsUnsent: Bool) throws {
    guard !discardsUnsent else { return }
    let log = evidence.log
    let status = try StatusFile(log).load(log.identity.logID)
    let accepted = status.map { $0.isRewound ? $0.accepted : evidence.receiptedSize } ?? evidence.receiptedSize
    if let first = try firstEvent(log, from: accepted) { throw unsent(first..<log.size, log.path) }
    if let named = try AttachmentStore(log).unaccepted().first(where: { $0.state == .pending }) {
      throw LogError(
        .unsentEvents, "the device can't sign out yet", file: log.path, offsets: named.offset..<named.offset + 1,
        why: "the server has not all files that this event names", advice: "let the replicator finish, or say that they may be lost")
    }
  }

  private static func firstEvent(_ log: Log, from offset: Offset) throws -> Offset? {
    var cursor = try log.read(Query(offsets: max(offset, log.first)..<Offset.max, onDamage: .skip))
    return try cursor.next()?.offset
  }

  static func unsent(_ offsets: Range<Offset>, _ path: String) -> LogError {
    LogError(
      .unsentEvents, "the device can't sign out yet", file: path, offsets: offsets, why: "the server has not accepted these events",
      advice: "let the replicator finish, or say that they may be lost")
  }

  /// Removes a directory with all that it holds: what names the log last, so that whoever is interrupted can begin again.
  package static func erase(_ path: String, _ files: any FileSystem) throws {
    guard let status = try files.status(path) else { return }
    guard status.isDirectory else { return try files.remove(path) }
    let last = ["identity", StatusFile.folder]
    let names = try files.list(path).sorted()
    for name in names.filter({ !last.contains($0) }) + names.filter(last.contains) { try erase("\(path)/\(name)", files) }
    try files.removeDirectory(path)
  }
}
