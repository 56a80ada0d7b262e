/// Power cuts: the file system is shut down without writing what it holds in memory, mounted again, and read by a fresh process.
enum PowerFault {
  static func run(_ series: Series, kind: String) -> Cell {
    series.run(lanes: series.lab.laneCount) { lane, generator, cell in
      let folder = try series.lab.memoryFolder("\(series.fault.rawValue)-\(lane)")
      defer { Libc.remove(folder) }
      let disk = try ImageFileSystem(kind: kind, in: folder, byteCount: kind == "xfs" ? 300 << 20 : 64 << 20)
      try disk.mount()
      var rounds = Rounds(series.subject, in: disk.mountPoint, roundLimit: 20)
      while series.meter.next() {
        let writer = try Writer(
          series.subject, rounds.path, first: rounds.next, batch: generator.oneIn(3) ? 5 : 1, size: 8 + generator.below(400), count: 20_000)
        let instant = Instant.random(&generator)
        instant.wait(for: writer)
        // Only what was heard before the cut counts.
        for _ in 0..<8 where !writer.takeAcknowledgements() { break }
        let acknowledged = writer.acknowledged
        let cut = Libc.now()
        try disk.shutDown()
        writer.kill()
        rounds.note(writer, acknowledged: acknowledged)
        try disk.unmount()
        try disk.mount()
        if let judgement = try rounds.verify(into: &cell, "lane \(lane), cut \(cell.injections)") {
          cell.keepTimeline(writer, judgement, cut: cut)
        }
      }
      try disk.unmount()
    }
  }
}
