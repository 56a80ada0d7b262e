/// A file in the directory of a run by which it is known again after the boot. It says which run, and at which witness; whatever changes
/// from round to round the witness keeps, because the disk is what is in question. Only that a round ended without a plug is noted here:
/// then the machine was still there to sync it.
struct PlugMarker {
  static let name = "plug"

  let run: String
  let witness: String
  /// The last round that was ended without a plug; 0 if there is none.
  private(set) var endedRound: UInt64 = 0
  private let path: String

  /// Makes it, durably.
  init(run: String, witness: String, in directory: String) throws(CrashError) {
    path = "\(directory)/\(Self.name)"
    self.run = run
    self.witness = witness
    let file = try Libc.openRecord(path, .new)
    defer { Libc.close(file) }
    try Libc.writeAll(file, Array("\(Self.title)\nrun \(run)\nwitness \(witness)\n".utf8), path)
    guard Libc.syncData(file) else { throw Libc.failure("can't sync", path) }
    try Libc.syncDirectory(directory)
    try Libc.syncDirectory(directory + "/..")
  }

  private static let title = "tidemark crashtest plug 1"

  /// Reads it; throws if it is none.
  init(in directory: String) throws(CrashError) {
    path = "\(directory)/\(Self.name)"
    guard let text = Libc.text(of: path) else { throw Libc.failure("can't read", path) }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard lines.count > 3, lines[0] == Self.title, lines[1].hasPrefix("run "), lines[2].hasPrefix("witness "),
      WitnessLine.isName(String(lines[1].dropFirst(4))), WitnessLine.isName(String(lines[2].dropFirst(8)))
    else {
      throw CrashError(
        .environment, "the run is not known", place: path, why: "the marker is damaged, or no marker; begin in another directory")
    }
    run = String(lines[1].dropFirst(4))
    witness = String(lines[2].dropFirst(8))
    // The last line may be torn, and then does not count.
    for line in lines[3...].dropLast() where line.hasPrefix("ended ") { endedRound = UInt64(line.dropFirst(6)) ?? endedRound }
  }

  /// Notes that a round ended without a plug.
  func noteEnd(of round: UInt64) throws(CrashError) {
    let file = try Libc.openRecord(path, .there)
    defer { Libc.close(file) }
    _ = Libc.seekToEnd(file)
    // On a line of its own, whatever a cut has left of the last one.
    try Libc.writeAll(file, Array("\nended \(round)\n".utf8), path)
    guard Libc.syncData(file) else { throw Libc.failure("can't sync", path) }
  }
}
