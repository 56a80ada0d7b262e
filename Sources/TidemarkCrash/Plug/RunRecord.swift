/// What a witness keeps of one run: a file of lines, to which lines are added and synced.
final class RunRecord {
  private(set) var history = PlugHistory()
  private let path: String
  private let file: Int32
  /// How much of the file is whole lines.
  private var byteCount: UInt64 = 0
  private var pending: [UInt8] = []

  static func path(_ run: String, in folder: String) -> String { "\(folder)/run-\(run)" }

  /// Makes the file of a new run; throws if it is there.
  init(new run: String, in folder: String) throws(CrashError) {
    path = Self.path(run, in: folder)
    file = try Libc.openRecord(path, .new)
    try Libc.syncDirectory(folder)
  }

  /// Reads the file of a run. What a crash of the witness left of a last line counts as nothing and is written over.
  init(_ run: String, in folder: String) throws(CrashError) {
    path = Self.path(run, in: folder)
    file = try Libc.openRecord(path, .there)
    var buffer = LineBuffer()
    var chunk: [UInt8] = []
    var number = 0
    while Libc.read(file, into: &chunk) > 0 {
      for bytes in buffer.take(chunk) {
        number += 1
        guard let line = WitnessLine(bytes), history.take(line) == nil else {
          throw CrashError(.environment, "the record is damaged", place: "\(path), line \(number)", why: "the line does not fit")
        }
        byteCount += UInt64(bytes.count + 1)
      }
      chunk.removeAll(keepingCapacity: true)
    }
  }

  deinit { Libc.close(file) }

  /// Takes in a line, which counts after ``sync()``. Returns why it does not fit, if it does not.
  func take(_ line: WitnessLine) -> String? {
    if let why = history.take(line) { return why }
    pending += WitnessLine.bytes([line])
    return nil
  }

  /// Makes durable what was taken. After an error this object must not be used any more.
  func sync() throws(CrashError) {
    guard !pending.isEmpty else { return }
    guard Libc.write(file, pending[...], at: byteCount), Libc.syncData(file) else {
      throw Libc.failure("can't write", path)
    }
    byteCount += UInt64(pending.count)
    pending.removeAll(keepingCapacity: true)
  }
}
