/// kill -9 at random instants, on the file system that the run was given.
enum KillFault {
  static func run(_ series: Series) -> Cell {
    series.run(lanes: series.lab.laneCount) { lane, generator, cell in
      let folder = try series.lab.folder("kill-\(lane)")
      defer { Libc.remove(folder) }
      var rounds = Rounds(series.subject, in: folder, roundLimit: 25)
      while series.meter.next() {
        let writer = try Writer(
          series.subject, rounds.path, first: rounds.next, batch: generator.oneIn(3) ? 5 : 1, size: 8 + generator.below(400), count: 20_000)
        Instant.random(&generator).wait(for: writer)
        let cut = Libc.now()
        let code = writer.kill()
        // What the pipe held was said before the kill.
        rounds.note(writer, acknowledged: writer.acknowledged)
        if code > 0 { cell.addWriterError(writer.complaint()) }
        if let judgement = try rounds.verify(into: &cell, "lane \(lane), kill \(cell.injections)") {
          cell.keepTimeline(writer, judgement, cut: cut)
        }
      }
    }
  }
}
