import TestSupport
import Testing
import TidemarkLog

/// Field cases about rolling to a new segment: a crash at each of its steps, and what is refused at that very moment.
@Suite struct RollFieldCaseTests {
  /// A reader that keeps what it has seen, and goes on from there after the writer's restart.
  private struct Follower {
    var next: UInt64 = 0
    var seen: [String] = []

    mutating func follow(_ fixture: Fixture) throws {
      let reader = try fixture.reader()
      #expect(reader.size >= next, "the log went back")
      var cursor = try reader.read(Query(offsets: next..<reader.size))
      while let text = try cursor.nextText() { seen.append(text) }
      next = reader.size
    }
  }

  private enum Crash: CaseIterable {
    case kill
    case losesEverything
    case keepsEverything
    case losesSome
  }

  private func crash(_ fixture: Fixture, _ crash: Crash, seed: Int) throws {
    switch crash {
    case .kill: try fixture.kill()
    case .losesEverything: try fixture.cutPower(.losesEverything)
    case .keepsEverything: try fixture.cutPower(.keepsEverything)
    case .losesSome: try fixture.cutPower(.seeded(UInt64(seed)))
    }
  }

  @Test func `a reader that follows over a crash at any step of rolling sees each event once`() throws {
    var steps = 0
    for kind in Crash.allCases {
      for call in 0..<60 {
        let fixture = try Fixture(seed: UInt64(call + 1))
        var follower = Follower()
        var acknowledged: [String] = []
        func append(_ text: String) throws {
          try fixture.log.append(event(text))
          acknowledged.append(text)
        }
        for number in 0..<5 { try append("\(number)") }
        try follower.follow(fixture)
        try append("unseen")
        fixture.disk.plan = FaultPlan(.cut(writing: call * 37 % 400), at: fixture.disk.callCount + call)
        let rolled = code { try fixture.log.roll() } == nil
        let appended = rolled && code { try append("behind the roll") } == nil
        let isOver = fixture.disk.faultCount == 0
        try crash(fixture, kind, seed: call)
        try follower.follow(fixture)
        try append("after")
        try append("and more")
        try follower.follow(fixture)
        // The one append that was never answered may be there, at its place.
        let withUnanswered = acknowledged.dropLast(2) + ["behind the roll"] + acknowledged.suffix(2)
        #expect(follower.seen == acknowledged || !appended && follower.seen == Array(withUnanswered), "\(kind), call \(call)")
        #expect(try fixture.texts() == follower.seen && fixture.verify().isOK, "\(kind), call \(call)")
        if isOver { break }
        steps += 1
      }
    }
    #expect(steps > 30)
  }

  /// Refused, or failed, for each state of the open file from nearly full to full.
  @Test(arguments: ["conflict", "size", "too large", "write", "sync", "no space", "names"])
  func `a batch that is refused just when a segment fills leaves neither gap nor repeat`(_ how: String) throws {
    for padding in stride(from: 3200, to: 3900, by: 25) {
      let fixture = try Fixture(seed: UInt64(padding))
      try fixture.log.append(event("a", id: id(1)))
      try fixture.log.append(NewEvent(type: "padding", data: [UInt8](repeating: 7, count: padding)))
      let batch = (0..<3).map { event("refused \($0)") }
      func refuse(_ fault: Fault, _ kinds: Calls) throws {
        fixture.disk.plan = FaultPlan(fault, during: 0...Int.max, only: kinds)
        let refused = code { try fixture.log.append(batch) }
        fixture.disk.plan = FaultPlan()
        if refused == nil { #expect(how == "names", "padding \(padding)") }
      }
      switch how {
      case "conflict": #expect(code { try fixture.log.append(batch + [event("other", id: id(1))]) } == .conflict)
      case "size": #expect(code { try fixture.log.append(batch, expecting: 1) } == .unexpectedSize)
      case "too large":
        #expect(code { try fixture.log.append(batch + [NewEvent(type: "t", data: [UInt8](repeating: 0, count: 2 << 20))]) } == .tooLarge)
      case "write": try refuse(.error(DiskError.inputOutput), .write)
      case "sync": try refuse(.failedSync(.marksPagesClean, reaching: .max), .sync)
      case "no space": try refuse(.shortWrite(byteCount: 100, errno: DiskError.noSpace), .write)
      default: try refuse(.error(DiskError.inputOutput), .syncDirectory)
      }
      let wasTaken = try fixture.texts().count > 2
      for number in 0..<3 { try fixture.log.append(event("\(number)")) }
      let offsets = try fixture.log.events(in: fixture.log.first..<fixture.log.size).map(\.offset)
      #expect(offsets == Array(1..<fixture.log.size), "padding \(padding)")
      let before = try fixture.texts()
      #expect(before.count == (wasTaken ? 8 : 5))
      if padding % 2 == 0 { try fixture.cutPower() } else { try fixture.kill() }
      #expect(try fixture.texts() == before, "padding \(padding)")
      try fixture.log.append(event("after"))
      #expect(try fixture.texts() == before + ["after"])
      #expect(try fixture.verify().isOK)
    }
  }

  @Test func `opening reads no more than the open segment and the ends of the others`() throws {
    var costs: [Int: Int] = [:]
    for count in [4, 40] {
      let fixture = try Fixture()
      for segment in 0..<count {
        try fixture.log.append((0..<40).map { event("\(segment)-\($0)") })
        try fixture.log.seal()
      }
      try fixture.log.append((0..<10).map { event("\($0)") })
      fixture.disk.processKill()
      fixture.disk.trace = []
      try fixture.kill()
      let reads = (fixture.disk.trace ?? []).filter { $0.kind == .read }
      costs[count] = reads.reduce(0) { $0 + $1.byteCount }
      let written = (fixture.disk.trace ?? []).filter { $0.kind == .write }.reduce(0) { $0 + $1.byteCount }
      #expect(written <= 8192)
      #expect(reads.filter { $0.path.hasSuffix(".sealed") }.allSatisfy { $0.byteCount <= 512 })
    }
    let (few, many) = (costs[4] ?? 0, costs[40] ?? 0)
    // Of each sealed segment its footer; of each file of the id index its first page.
    #expect(few > 0 && many - few <= 36 * 512 + 6 * 4096)
  }
}
