/// No space: file systems in memory and small ext4 file systems of many sizes, and a limit on the size of files, which makes writes short.
/// What was acknowledged must be there, the store must open with nothing free, and take events again once there is space.
enum FullFault {
  static func run(_ series: Series) -> Cell {
    series.run(lanes: series.lab.laneCount) { lane, generator, cell in
      let folder = try series.lab.memoryFolder("full-\(lane)")
      defer { Libc.remove(folder) }
      let disk = try ImageFileSystem(kind: "ext4", in: folder, byteCount: 12 << 20, blockByteCount: 1024)
      try disk.mount()
      let memory = folder + "/memory"
      try Libc.makeDirectory(memory)
      var rounds = 0
      while series.meter.next() {
        let place = "lane \(lane), case \(cell.injections)"
        switch rounds % 3 {
        case 0: try inMemory(series.subject, memory, &generator, &cell, place)
        case 1: try onExt4(series.subject, disk.mountPoint, &generator, &cell, place)
        default: try underLimit(series.subject, folder + "/limited", &generator, &cell, place)
        }
        rounds += 1
      }
      try disk.unmount()
    }
  }

  /// Sizes small and large alike.
  private static func size(_ generator: inout SplitMix64, upTo shift: Int) -> UInt64 {
    let bits = 12 + generator.below(shift - 12)
    return (UInt64(1) << UInt64(bits)) + UInt64(generator.below(1 << bits))
  }

  private static func inMemory(
    _ subject: Subject, _ target: String, _ generator: inout SplitMix64, _ cell: inout Cell, _ place: String
  ) throws(CrashError) {
    let bytes = size(&generator, upTo: 22)
    try Mounts.mount("tidemark-full", at: target, type: "tmpfs", options: "size=\(bytes),mode=700")
    defer { try? Mounts.unmount(target) }
    try fill(subject, target, nil, &generator, &cell, "\(place), \(bytes) bytes of memory") { () throws(CrashError) in
      try Mounts.resize(target, byteCount: 64 << 20)
    }
  }

  private static func onExt4(
    _ subject: Subject, _ target: String, _ generator: inout SplitMix64, _ cell: inout Cell, _ place: String
  ) throws(CrashError) {
    let bytes = size(&generator, upTo: 22)
    let ballast = target + "/ballast"
    defer { for name in Libc.names(in: target) ?? [] where name != "lost+found" { Libc.remove("\(target)/\(name)") } }
    guard let status = Libc.fileSystem(of: target), status.freeByteCount > bytes else { return }
    try Libc.fill(ballast, byteCount: status.freeByteCount - bytes)
    try fill(subject, target, nil, &generator, &cell, "\(place), \(bytes) bytes of ext4") { Libc.remove(ballast) }
  }

  private static func underLimit(
    _ subject: Subject, _ target: String, _ generator: inout SplitMix64, _ cell: inout Cell, _ place: String
  ) throws(CrashError) {
    let bytes = size(&generator, upTo: 20) + UInt64(generator.below(4096))
    try Libc.makeDirectory(target)
    defer { Libc.remove(target) }
    try fill(subject, target, bytes, &generator, &cell, "\(place), files of \(bytes) bytes") {}
  }

  /// Writes until nothing goes any more, opens the store without space, gives space, and writes on.
  private static func fill(
    _ subject: Subject, _ target: String, _ limit: UInt64?, _ generator: inout SplitMix64, _ cell: inout Cell, _ place: String,
    makeSpace: () throws(CrashError) -> Void
  ) throws(CrashError) {
    var rounds = Rounds(subject, in: target, roundLimit: 10)
    let writer = try Writer(
      subject, rounds.path, first: 0, batch: generator.oneIn(3) ? 5 : 1, size: 8 + generator.below(600), count: 6_000, limit: limit)
    let deadline = Libc.now() + 20_000_000_000
    while !writer.isAtEnd, Libc.now() < deadline { writer.takeAcknowledgements(waitMilliseconds: 100) }
    let cut = Libc.now()
    let code = writer.kill()
    if code > 0 { cell.addWriterError(writer.complaint()) }
    rounds.note(writer, acknowledged: writer.acknowledged)
    // A store that could not be made has nothing to keep.
    if code < 0 && code != -9 { cell.addUnopenable(atRisk: 0, "\(place): the writer ended by signal \(-code)") }
    // Without space it must open, and may hold back what it can't make sure of; with space everything must be there.
    guard try rounds.verifyWithoutSpace(into: &cell, place + ", without space") else { return }
    try makeSpace()
    guard let judgement = try rounds.verify(into: &cell, place + ", with space") else { return }
    cell.keepTimeline(writer, judgement, cut: cut)
    guard judgement.isWhole else { return }
    let second = try Writer(subject, rounds.path, first: rounds.next, batch: 1, count: 5)
    second.drain()
    let secondCode = second.kill()
    rounds.note(second, acknowledged: second.acknowledged)
    if secondCode != 0 { cell.addUnopenable(atRisk: 0, "\(place): takes nothing after space was made (\(second.complaint()))") }
    try rounds.verify(into: &cell, place + ", written on")
  }
}
