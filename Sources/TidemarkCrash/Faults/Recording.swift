/// What an engine did to a disk: a record of writes and flushes, and what was promised at which point of it.
struct Recording {
  /// The disk's content before the first entry.
  let base: [UInt8]
  let data: [UInt8]
  let entries: [Entry]
  /// Where promises were made, in order.
  let marks: [Mark]
  /// All writers' events.
  let runs: [Expectation.Run]
  let attempted: UInt64
  let traffic: Cell.Traffic

  struct Entry {
    var position: Int
    /// In `data`; empty for a flush.
    var bytes: Range<Int>
    var isFlush: Bool
  }

  /// Once so many entries were in the record, that much was promised.
  struct Mark {
    var entryCount: Int
    var acknowledged: UInt64
    var served: UInt64
  }

  /// What a store owes if the power goes after so many entries.
  func expectation(after entryCount: Int) -> Expectation {
    var expectation = Expectation()
    var (low, high) = (0, marks.count)
    while low < high {
      let middle = (low + high) / 2
      if marks[middle].entryCount <= entryCount { low = middle + 1 } else { high = middle }
    }
    if low > 0 {
      expectation.acknowledged = marks[low - 1].acknowledged
      expectation.served = marks[low - 1].served
    }
    expectation.attempted = attempted
    expectation.runs = runs
    return expectation
  }

  /// The name of the store on the recorded disk.
  static let storeName = "store"
  static let diskByteCount: UInt64 = 16 << 20
  static let blockByteCount = 1024

  /// Lets the subject write on a recording disk: several writers after one another, ended by kill -9 or by themselves, each followed by a
  /// recovery.
  static func make(_ subject: Subject, _ lab: Lab, in folder: String, _ generator: inout SplitMix64) throws(CrashError) -> Recording {
    Libc.remove(folder)
    try Libc.makeDirectory(folder)
    let image = folder + "/image"
    let mountPoint = folder + "/mounted"
    try Libc.makeDirectory(mountPoint)
    try ImageFileSystem.makeFile(image, diskByteCount)
    try ImageFileSystem.format(image, "ext4", blockByteCount)
    let disk = try UserDisk(in: folder, image: image, records: true)
    defer { disk.end() }
    guard let device = disk.device else { throw CrashError(.environment, "no disk", why: "it has no device") }
    try Mounts.mount(device.path, at: mountPoint, type: "ext4")
    var isMounted = true
    defer { if isMounted { try? Mounts.unmount(mountPoint) } }
    try Mounts.sync(mountPoint)
    let base = try whole(image)
    let skipped = Int(disk.control.entryCount)
    var session = Session(subject, mountPoint + "/" + storeName, disk.control)
    for _ in 0..<4 where !lab.isStopped { try session.writeAndRecover(&generator) }
    // What was never synced is written in the end, so that there is something to cut.
    let end = Int(disk.control.entryCount)
    try Mounts.sync(mountPoint)
    try Mounts.unmount(mountPoint)
    isMounted = false
    let data = try whole(disk.record)
    let all = parse(data)
    let worked = all[skipped..<max(skipped, min(end, all.count))]
    session.traffic.flushes = worked.count { $0.isFlush }
    session.traffic.writtenBytes = worked.reduce(0) { $0 + $1.bytes.count }
    let marks = session.marks.map { Mark(entryCount: $0.entryCount - skipped, acknowledged: $0.acknowledged, served: $0.served) }
    return Recording(
      base: base, data: data, entries: Array(all[skipped...]), marks: marks, runs: session.runs, attempted: session.attempted,
      traffic: session.traffic)
  }

  private static func whole(_ path: String) throws(CrashError) -> [UInt8] {
    let file = try Libc.open(path, 0)
    defer { Libc.close(file) }
    return Libc.read(file, count: Int(Libc.byteCount(of: path) ?? 0), at: 0)
  }

  /// Takes a record apart: position in 8 bytes, count and kind in 4 each, and the data.
  private static func parse(_ data: [UInt8]) -> [Entry] {
    func number(_ start: Int, _ count: Int) -> Int { (0..<count).reduce(0) { $0 | Int(data[start + $1]) << ($1 * 8) } }
    var entries: [Entry] = []
    var at = 0
    while at + 16 <= data.count {
      let count = number(at + 8, 4)
      guard at + 16 + count <= data.count else { break }
      entries.append(Entry(position: number(at, 8), bytes: at + 16..<at + 16 + count, isFlush: number(at + 12, 4) == 1))
      at += 16 + count
    }
    return entries
  }

  /// Writers and recoveries on one store, while the disk records.
  private struct Session {
    let subject: Subject
    let path: String
    let control: DiskControl
    var marks: [Mark] = []
    var runs: [Expectation.Run] = []
    var attempted: UInt64 = 0
    var traffic = Cell.Traffic()
    private var acknowledged: UInt64 = 0
    private var served: UInt64 = 0

    init(_ subject: Subject, _ path: String, _ control: DiskControl) {
      self.subject = subject
      self.path = path
      self.control = control
    }

    private mutating func mark() {
      // Read after the promise was heard: what the promise stands on lies before.
      marks.append(Mark(entryCount: Int(control.entryCount), acknowledged: acknowledged, served: served))
    }

    mutating func writeAndRecover(_ generator: inout SplitMix64) throws(CrashError) {
      let size = 8 + generator.below(600)
      let batch: UInt64 = generator.oneIn(2) ? 5 : 1
      let wanted = 8 + generator.below(30)
      // A writer that ends by itself closes its store.
      let count = generator.oneIn(3) ? UInt64(wanted) * batch : 100_000
      // With a small pipe a fast writer does not run far ahead.
      let writer = try Writer(subject, path, first: served, batch: batch, size: size, count: count, pipeCapacity: 4096)
      let deadline = Libc.now() + 10_000_000_000
      while writer.acknowledgementCount < wanted, !writer.isAtEnd, Libc.now() < deadline {
        if writer.takeAcknowledgements(waitMilliseconds: 100) {
          acknowledged = max(acknowledged, writer.acknowledged)
          mark()
        }
      }
      if count != 100_000 { writer.drain() }
      writer.kill()
      traffic.acknowledgements += writer.acknowledgementCount
      traffic.eventBytes += Int(writer.acknowledged - writer.first) * size
      acknowledged = max(acknowledged, writer.acknowledged == writer.first ? 0 : writer.acknowledged)
      attempted = max(attempted, writer.attempted)
      mark()
      let result = try Captured(subject.program, subject.arguments("verify", path), seconds: 60)
      guard result.code == 0, let found = Found(output: result.output) else {
        throw CrashError(.environment, "the engine can't open its store after a kill", place: subject.name, why: result.remark)
      }
      served = UInt64(found.events.count)
      runs.append(Expectation.Run(first: writer.first, end: min(writer.attempted, served), batch: batch))
      // What a kill took is the kill's fault, not the power cut's.
      acknowledged = min(acknowledged, served)
      mark()
    }
  }
}
