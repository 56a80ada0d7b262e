import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// Power cuts, kills and errors at every call that an erasure makes. Whatever was left, doing it again ends in the same state.
@Suite struct ErasureCrashTests {
  static let person = "person-17"

  /// Before the erasure; copied for each crash.
  private static func scene() throws -> (image: DiskImage, secret: [UInt8], copies: DerivedCopies) {
    let fixture = try ErasureFixture()
    try fixture.appendVisits(of: person, count: 3, from: 1)
    try fixture.log.roll()
    try fixture.appendVisits(of: "person-18", count: 2, from: 11)
    try fixture.appendVisits(of: person, count: 1, from: 21)
    let key = try #require(try fixture.store.keys(of: person).first)
    try fixture.store.addHolder("server a.example", to: key.id)
    let text = Array("diagnosis of \(person)".utf8)
    try fixture.putFile("/log/projections/p/00000000000000000005.snapshot", text)
    try fixture.putFile("/rows.sqlite", Array("SQLite format 3\u{0}".utf8) + text)
    try fixture.putFile("/rows.sqlite-wal", text)
    try fixture.putFile("/attachments/photo of \(person)", Array("photo".utf8))
    // What a crash in the making of another key left.
    try fixture.putFile("/keys/00000000000000000000000000000007.tmp", text)
    try fixture.log.close()
    var image = fixture.disk.image
    image.syncEverything()
    var copies = DerivedCopies()
    copies.databases = ["/rows.sqlite"]
    copies.attachmentDirectories = ["/attachments"]
    return (image, key.secret, copies)
  }

  private func check(_ fixture: ErasureFixture, _ secret: [UInt8], _ place: Comment) throws {
    let sought = markers(of: Self.person) + [secret]
    #expect(fixture.files(with: sought) == [], place)
    let events = try fixture.everything()
    let named = try events.compactMap { try ErasureRecord($0) }
    #expect(named.count == 1 && named[0].keys.count == 1, place)
    #expect(events.filter { !$0.isControl }.count == 6, place)
    var erased = 0
    for event in events where !event.isControl {
      switch try fixture.events.open(event) {
      case .erased(let key): if key == named.first?.keys.first?.id { erased += 1 }
      case .readable(let visit): #expect(visit.subject == "person-18", place)
      case .notSealed: Issue.record(place)
      }
    }
    #expect(erased == 4, place)
    #expect(try fixture.store.pendingErasures().isEmpty && fixture.verify().findings.isEmpty, place)
    let names = fixture.disk.image.files(under: "/keys")
    #expect(names.count { $0.hasSuffix(".destroyed") } == 1 && names.count { $0.hasSuffix(".key") } == 1 && names.count == 2, place)
  }

  /// Erases once more; that nothing is left to do is the other right answer.
  private func finish(_ fixture: ErasureFixture, _ copies: DerivedCopies, _ place: Comment) throws {
    do { try fixture.events.erase(Self.person, from: fixture.log, removing: copies) } catch LogError.Code.unknownSubject {}
  }

  @Test(arguments: [PowerCut.losesEverything, .keepsEverything, .seeded(1), .seeded(2)])
  func `after a power cut at any call it ends as if nothing had happened`(_ cut: PowerCut) throws {
    let (image, secret, copies) = try Self.scene()
    var call = 0
    while true {
      let fixture = try ErasureFixture(disk: SimulatedDisk(image))
      let start = fixture.disk.callCount
      fixture.disk.plan = FaultPlan(.cut(writing: 40), at: start + call)
      let failure = erasureError { try fixture.events.erase(Self.person, from: fixture.log, removing: copies) }
      if failure == nil, !fixture.disk.isCut {
        fixture.disk.plan = FaultPlan()
        try check(fixture, secret, "without a cut")
        break
      }
      try fixture.cutPower(cut)
      let place: Comment = "call \(call)"
      try finish(fixture, copies, place)
      try check(fixture, secret, place)
      // And nothing of it is taken back by a later cut.
      try fixture.cutPower()
      try check(fixture, secret, place)
      call += 1
    }
    #expect(call > 100)
  }

  @Test func `after an error at any call, doing it again in the same process is enough`() throws {
    let (image, secret, copies) = try Self.scene()
    var call = 0
    while true {
      let fixture = try ErasureFixture(disk: SimulatedDisk(image))
      fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), at: fixture.disk.callCount + call)
      let failure = erasureError { try fixture.events.erase(Self.person, from: fixture.log, removing: copies) }
      let place: Comment = "call \(call)"
      if failure == nil, fixture.disk.faultCount == 0 { break }
      fixture.disk.plan = FaultPlan()
      // Some calls are only hints, and their failure is none of erasure.
      if failure != nil { try finish(fixture, copies, place) }
      try check(fixture, secret, place)
      call += 1
    }
    #expect(call > 100)
  }

  @Test func `cut twice it still ends`() throws {
    let (image, secret, copies) = try Self.scene()
    var random = SeededRandom(seed: 7)
    for round in 0..<100 {
      let fixture = try ErasureFixture(disk: SimulatedDisk(image))
      let place: Comment = "round \(round)"
      for _ in 0..<2 {
        fixture.disk.plan = FaultPlan(.cut(writing: random.number(below: 200)), at: fixture.disk.callCount + random.number(below: 120))
        _ = erasureError { try fixture.events.erase(Self.person, from: fixture.log, removing: copies) }
        try fixture.cutPower(.seeded(random.next()))
      }
      try finish(fixture, copies, place)
      try check(fixture, secret, place)
    }
  }

  /// The interrupted erasure of one subject is finished along with the next one of another.
  @Test func `what was interrupted is finished by whoever erases next`() throws {
    let (image, _, copies) = try Self.scene()
    let fixture = try ErasureFixture(disk: SimulatedDisk(image))
    try fixture.store.beginErasure(of: Self.person)
    try fixture.restart()
    let report = try fixture.events.erase("person-18", from: fixture.log, removing: copies)
    #expect(report.keys.count == 2 && report.keys.map(\.eventCount).sorted() == [2, 4] && report.erasureOffsets.count == 1)
    #expect(fixture.files(with: markers(of: Self.person) + markers(of: "person-18")) == [])
  }

  /// A key whose destruction has begun can't be read any more, and so nobody can be asked for by name.
  @Test func `a key that is half destroyed is finished, and recorded if it was not`() throws {
    let (image, _, copies) = try Self.scene()
    let fixture = try ErasureFixture(disk: SimulatedDisk(image))
    let key = try #require(try fixture.store.keys(of: Self.person).first)
    try fixture.store.beginErasure(of: Self.person)
    let path = try #require(fixture.disk.image.files(under: "/keys").first { $0.hasSuffix(".erasing") })
    try fixture.disk.image.setContents(of: path, to: [UInt8](repeating: 0, count: 97))
    let report = try fixture.events.erase("nobody", from: fixture.log, removing: copies)
    #expect(report.keys.map(\.id) == [key.id] && report.keys[0].pseudonym == nil && report.keys[0].eventCount == 4)
    let record = try #require(try ErasureRecord(fixture.log.event(at: report.erasureOffsets[0])))
    #expect(record.keys.map(\.id) == [key.id] && record.keys[0].pseudonym == .zero)
    #expect(try fixture.store.find(key.id) == .destroyed && fixture.store.pendingErasures().isEmpty)
  }
}
