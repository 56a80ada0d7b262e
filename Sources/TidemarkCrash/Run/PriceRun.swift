/// What acknowledgements cost, and how recovery grows, without any fault but the kill at the end.
enum PriceRun {
  static func run(_ lab: Lab, _ subject: Subject, seconds: Double, sizes: [Int]) throws(CrashError) -> Price {
    var price = Price(engine: subject.name)
    let folder = try lab.folder("price")
    defer { Libc.remove(folder) }
    lab.report("price, \(subject.name)", 0, of: nil)
    let size = 200
    // A small pipe, so that acknowledgements are taken about when they are made.
    let writer = try Writer(subject, folder + "/store", first: 0, batch: 1, size: size, momentLimit: 2_000_000, pipeCapacity: 4096)
    let deadline = writer.start + UInt64(seconds * 1e9)
    while Libc.now() < deadline, !writer.isAtEnd, !lab.isStopped { writer.takeAcknowledgements(waitMilliseconds: 20) }
    writer.kill()
    let moments = writer.moments
    if let first = moments.first, let last = moments.last, last.nanoseconds > first.nanoseconds {
      price.acknowledgementsPerSecond = Double(moments.count - 1) * 1e9 / Double(last.nanoseconds - first.nanoseconds)
      let gaps = gaps(moments.map(\.nanoseconds))
      price.p50 = Double(gaps.percentile(0.5) ?? 0) / 1000
      price.p99 = Double(gaps.percentile(0.99) ?? 0) / 1000
      price.p999 = Double(gaps.percentile(0.999) ?? 0) / 1000
    }
    for size in sizes where !lab.isStopped {
      if let recovery = try recovery(lab, subject, folder, size) { price.recoveries.append(recovery) }
    }
    return price
  }

  /// Nanoseconds from each acknowledgement to the next. Those that came out of the pipe together share the time evenly.
  private static func gaps(_ moments: [UInt64]) -> [UInt64] {
    var gaps: [UInt64] = []
    gaps.reserveCapacity(moments.count)
    var index = 1
    while index < moments.count {
      var end = index
      while end + 1 < moments.count, moments[end + 1] == moments[index] { end += 1 }
      let each = (moments[index] - moments[index - 1]) / UInt64(end - index + 1)
      gaps.append(contentsOf: repeatElement(each, count: end - index + 1))
      index = end + 1
    }
    return gaps
  }

  private static func recovery(_ lab: Lab, _ subject: Subject, _ folder: String, _ events: Int) throws(CrashError) -> Price.Recovery? {
    let path = "\(folder)/recovery-\(events)"
    let writer = try Writer(subject, path, first: 0, batch: 100, momentLimit: 0)
    let deadline = writer.start + 20_000_000_000
    while writer.acknowledged < UInt64(events), !writer.isAtEnd, Libc.now() < deadline, !lab.isStopped {
      writer.takeAcknowledgements(waitMilliseconds: 50)
    }
    writer.kill()
    let bytes = Libc.treeByteCount(path)
    let result = try Captured(subject.program, subject.arguments("verify", path), seconds: 60)
    Libc.remove(path)
    guard result.code == 0, let found = Found(output: result.output) else { return nil }
    return Price.Recovery(events: found.events.count, bytes: bytes, microseconds: found.openingMicroseconds)
  }
}
