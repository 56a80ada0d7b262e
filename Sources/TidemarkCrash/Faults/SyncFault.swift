/// A disk that refuses writes or flushes for a moment while an engine works on it, and takes them again afterwards. What the engine has
/// acknowledged, before, during and after, must be on the disk when the kernel's memory of it is gone.
///
/// The file system's journal lies on another device, so that it lives on.
enum SyncFault {
  static func run(_ series: Series) -> Cell {
    series.run(lanes: series.lab.laneCount) { lane, generator, cell in
      let folder = try series.lab.memoryFolder("sync-\(lane)")
      defer { Libc.remove(folder) }
      var bench: Bench? = try Bench(in: folder)
      var rounds = Rounds(series.subject, in: folder + "/mounted", roundLimit: 10)
      while series.meter.next() {
        if bench == nil {
          Libc.remove(folder)
          try Libc.makeDirectory(folder)
          bench = try Bench(in: folder)
          rounds.forget()
        }
        guard let current = bench else { continue }
        do { try round(series.subject, current, &rounds, &generator, &cell, "lane \(lane), failure \(cell.injections)") } catch {
          // The file system did not live through it: that says nothing about the engine.
          cell.fileSystemFailures += 1
          bench = nil
        }
      }
      bench = nil
    }
  }

  private static func round(
    _ subject: Subject, _ bench: Bench, _ rounds: inout Rounds, _ generator: inout SplitMix64, _ cell: inout Cell, _ place: String
  ) throws {
    var writer = try Writer(
      subject, rounds.path, first: rounds.next, batch: generator.oneIn(3) ? 5 : 1, size: 8 + generator.below(400), count: 20_000)
    Instant.random(&generator, acknowledgements: 40).wait(for: writer)
    bench.disk.control.setFault(generator.oneIn(4) ? .flushes : .writes)
    let cut = Libc.now()
    // An engine may stop, or go on; either is watched for a while.
    let deadline = cut + UInt64(3_000_000 + generator.below(15_000_000))
    while !writer.isAtEnd, Libc.now() < deadline { writer.takeAcknowledgements(waitMilliseconds: 1) }
    bench.disk.control.setFault([])
    if generator.oneIn(2) {
      let more = Libc.now() + UInt64(generator.below(10_000_000))
      while !writer.isAtEnd, Libc.now() < more { writer.takeAcknowledgements(waitMilliseconds: 1) }
    }
    let code = writer.kill()
    if code > 0 { cell.addWriterError(writer.complaint()) }
    rounds.note(writer, acknowledged: writer.acknowledged)
    if generator.oneIn(2) {
      // Opened while the kernel still shows what the disk never took; then written on.
      guard try rounds.verify(into: &cell, place + ", warm") != nil else { return }
      writer = try Writer(subject, rounds.path, first: rounds.next, batch: 1, count: UInt64(1 + generator.below(30)))
      writer.drain()
      writer.kill()
      rounds.note(writer, acknowledged: writer.acknowledged)
    }
    try bench.loseMemory(byPowerCut: subject.claim == .power && generator.oneIn(2))
    if let judgement = try rounds.verify(into: &cell, place + ", cold") { cell.keepTimeline(writer, judgement, cut: cut) }
  }

  /// A disk that fails on request, with a file system on it.
  private final class Bench {
    let disk: UserDisk
    private let journal: LoopDevice
    private let mountPoint: String
    private var isMounted = false

    init(in folder: String) throws(CrashError) {
      let (image, journalImage) = (folder + "/image", folder + "/journal")
      mountPoint = folder + "/mounted"
      try Libc.makeDirectory(mountPoint)
      try ImageFileSystem.makeFile(journalImage, 16 << 20)
      try ImageFileSystem.format(journalImage, "ext4", 4096, ["-O", "journal_dev"])
      journal = try LoopDevice(image: journalImage)
      try ImageFileSystem.makeFile(image, 64 << 20)
      try ImageFileSystem.format(image, "ext4", 4096, ["-J", "device=\(journal.path)"])
      disk = try UserDisk(in: folder, image: image, records: false)
      try mount()
    }

    deinit {
      disk.control.setFault([])
      if isMounted { try? Mounts.unmount(mountPoint) }
      disk.end()
    }

    private func mount() throws(CrashError) {
      guard let device = disk.device else { return }
      try Mounts.mount(device.path, at: mountPoint, type: "ext4", options: "journal_path=\(journal.path),errors=continue")
      isMounted = true
    }

    /// Nothing but the disk's own content is there afterwards.
    func loseMemory(byPowerCut: Bool) throws(CrashError) {
      if byPowerCut { try Mounts.shutDown(mountPoint) }
      try Mounts.unmount(mountPoint)
      isMounted = false
      disk.device?.forgetCache()
      try mount()
    }
  }
}
