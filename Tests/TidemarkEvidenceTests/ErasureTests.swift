import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct ErasureTests {
  let fixture: ErasureFixture
  let person = "person-17"
  let other = "person-18"

  init() throws { fixture = try ErasureFixture() }

  /// Visits of two persons in sealed and open segments, and all kinds of derived copies with the first one's data.
  private func prepare() throws -> DerivedCopies {
    try fixture.appendVisits(of: person, count: 12, from: 1)
    try fixture.appendVisits(of: other, count: 3, from: 101)
    try fixture.log.seal()
    try fixture.appendVisits(of: person, count: 2, from: 21)
    let text = Array("{\"\(person)\":\"diagnosis of \(person)\"}".utf8)
    try fixture.putFile("/log/projections/last-seen/00000000000000000016.snapshot", text)
    try fixture.putFile("/log/projections/last-seen/00000000000000000017.snapshot.tmp", text)
    try fixture.putFile("/log/torn/00000000000000000000-33ba2f29e7c168bb98843f48a94b7866.open-4560.bin", text)
    for name in ["rows.sqlite", "rows.sqlite-wal", "rows.sqlite-shm"] {
      try fixture.putFile("/rows/\(name)", name.hasSuffix("e") ? Array("SQLite format 3\u{0}".utf8) + text : text)
    }
    try fixture.putFile("/attachments/photo of \(person)", Array("photo".utf8))
    try fixture.putFile("/attachments/photo of \(other)", Array("photo".utf8))
    var copies = DerivedCopies()
    copies.databases = ["/rows/rows.sqlite"]
    copies.attachmentDirectories = ["/attachments"]
    return copies
  }

  private func segments() -> [String: [UInt8]] {
    var bytes: [String: [UInt8]] = [:]
    for path in fixture.disk.image.files(under: "/log/segments") { bytes[path] = fixture.disk.image.contents(of: path) }
    return bytes
  }

  @Test func `afterwards no byte of name, actor, data or key is anywhere, and the log verifies and is the same but for one event`() throws {
    let copies = try prepare()
    let key = try #require(try fixture.store.keys(of: person).first)
    let sought = markers(of: person) + [key.secret]
    #expect(fixture.files(with: sought).count == 8)
    let before = segments()
    let events = try fixture.everything()

    let report = try fixture.events.erase(person, from: fixture.log, removing: copies)
    #expect(fixture.files(with: sought) == [])
    #expect(fixture.files(with: markers(of: other)).count == 2)

    // Each byte that was written before still stands where it stood; in the open segment zeros that were written ahead are used.
    let after = segments()
    #expect(Set(after.keys) == Set(before.keys))
    for (path, bytes) in before {
      let written = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
      #expect(after[path]?.prefix(written).elementsEqual(bytes.prefix(written)) == true, "\(path)")
      if path.hasSuffix(".sealed") { #expect(after[path] == bytes) }
    }
    let now = try fixture.everything()
    #expect(now.count == events.count + 1 && report.erasureOffsets == [UInt64(events.count)])
    for (old, new) in zip(events, now) { #expect(old.id == new.id && old.data == new.data && old.subject == new.subject) }
    let record = try #require(try ErasureRecord(now[events.count]))
    #expect(now[events.count].kind == .erasure && record.keys.map(\.id) == [key.id] && record.keys[0].pseudonym == key.pseudonym)
    #expect(try fixture.verify().findings.isEmpty)

    for restarted in [false, true] {
      if restarted { try fixture.cutPower() }
      #expect(try fixture.verify().findings.isEmpty && fixture.log.recoveryReport.findings.allSatisfy { $0.isHarmless })
      for event in try fixture.log.events(in: 0..<fixture.log.size) {
        let isErased = event.subject == key.pseudonym.description.filter { $0 != "-" }
        let opened = try fixture.events.open(event)
        if isErased { #expect(opened == .erased(key: key.id)) }
        if !isErased, case .readable(let visit) = opened { #expect(visit.subject == other) } else { #expect(isErased) }
      }
    }
    #expect(fixture.files(with: sought) == [])
  }

  @Test func `the report says what is gone and what remains`() throws {
    var copies = try prepare()
    copies.databases.append("/rows/misspelt.sqlite")
    try fixture.putFile("/attachments2/photo of \(person)", Array("other".utf8))
    let key = try #require(try fixture.store.keys(of: person).first)
    try fixture.store.addHolder("server a.example", to: key.id)
    try fixture.log.append([
      NewEvent(type: "t", subject: person), NewEvent(type: "t", actor: person), NewEvent(type: "t", subject: "person-171"),
    ])
    let plan = try fixture.events.planErasure(of: person, from: fixture.log, removing: copies)
    let size = fixture.log.size
    #expect(try fixture.store.keys(of: person).count == 1)
    let report = try fixture.events.erase(person, from: fixture.log, removing: copies)
    #expect(
      report.removed.map(\.path) == [
        "/log/projections/last-seen/00000000000000000016.snapshot", "/log/projections/last-seen/00000000000000000017.snapshot.tmp",
        "/log/torn/00000000000000000000-33ba2f29e7c168bb98843f48a94b7866.open-4560.bin", "/rows/rows.sqlite", "/rows/rows.sqlite-wal",
        "/rows/rows.sqlite-shm", "/attachments/photo of \(person)",
      ])
    #expect(report.removed.allSatisfy { $0.isOverwritten })
    #expect(report.keys.count == 1 && report.keys[0].eventCount == 14 && report.keys[0].offsets == 1...17)
    #expect(report.holders == ["server a.example"] && report.plainEventCount == 2)
    #expect(report.missingDatabases == ["/rows/misspelt.sqlite"] && report.missingAttachments.isEmpty && report.keptSnapshots.isEmpty)
    #expect(report.unreadableEventCount == 0 && report.damagedOffsetCount == 0 && report.erasureOffsets == [size])
    // The plan said the same, and did nothing.
    var planned = plan
    planned.erasureOffsets = report.erasureOffsets
    #expect(planned == report && plan.erasureOffsets.isEmpty)
  }

  @Test func `what was removed is overwritten before`() throws {
    let copies = try prepare()
    fixture.disk.trace = []
    let report = try fixture.events.erase(person, from: fixture.log, removing: copies)
    let trace = fixture.disk.trace ?? []
    for file in report.removed {
      let own = trace.filter { $0.path.hasPrefix(file.path) && $0.path.hasSuffix("erasing") && Calls.changing.contains($0.kind) }
      #expect(own.map(\.kind).prefix(3) == [.write, .sync, .remove], "\(file.path)")
    }
    // The event is on the disk before anything goes, and the key goes last.
    let recorded = try #require(trace.lastIndex { $0.path.hasPrefix("/log/segments/") && $0.kind == .sync })
    let removed = try #require(trace.firstIndex { $0.path == report.removed[0].path && $0.kind == .rename })
    let destroyed = try #require(trace.firstIndex { $0.path.hasSuffix(".erasing") && $0.kind == .write })
    let lastRemoved = try #require(trace.lastIndex { $0.path.hasPrefix(report.removed[6].path) && $0.kind == .remove })
    #expect(recorded < removed && lastRemoved < destroyed)
  }

  @Test func `erasing again, or somebody unknown, says so and changes nothing`() throws {
    try fixture.appendVisits(of: person, count: 2, from: 1)
    try fixture.events.erase(person, from: fixture.log)
    let size = fixture.log.size
    for subject in [person, "person-99"] {
      let refused = erasureError { try fixture.events.erase(subject, from: fixture.log) }
      #expect(refused?.code == .unknownSubject && refused?.advice.isEmpty == false)
      #expect(erasureError { _ = try fixture.events.planErasure(of: subject, from: fixture.log) }?.code == .unknownSubject)
    }
    #expect(fixture.log.size == size)
  }

  @Test func `a subject that comes back is somebody new, and the old events stay erased`() throws {
    try fixture.appendVisits(of: person, count: 2, from: 1)
    try fixture.events.erase(person, from: fixture.log)
    try fixture.appendVisits(of: person, count: 1, from: 11)
    let all = try fixture.log.events(in: 0..<fixture.log.size)
    let opened = try all.map { try fixture.events.open($0) }
    #expect(opened.count == 3 && opened[2] == .readable(visit(of: person, 11)) && all[2].subject != all[0].subject)
    for event in opened[..<2] { if case .erased = event { continue } else { Issue.record("\(event)") } }
    // Sealed again, an old event is another: the first stays as it is, unreadable.
    #expect(erasureError { try fixture.appendVisits(of: person, count: 1, from: 1) }?.code == .conflict)
    try fixture.events.erase(person, from: fixture.log)
    #expect(fixture.files(with: markers(of: person)) == [])
  }

  @Test func `a store of a host serves as well, and names all keys of a subject`() throws {
    let keys = [SubjectKey(newFor: person), SubjectKey(newFor: person), SubjectKey(newFor: other)].sorted { $0.id < $1.id }
    let events = ErasableEvents(keys: MemoryKeyStore(keys))
    try fixture.log.append(events.seal(visit(of: person, 1), for: person))
    try fixture.log.append(events.seal(visit(of: other, 2), for: other))
    let report = try events.erase(person, from: fixture.log)
    #expect(report.keys.map(\.id) == keys.filter { $0.subject == person }.map(\.id))
    #expect(report.keys.map(\.eventCount).reduce(0, +) == 1)
    let record = try #require(try ErasureRecord(fixture.log.event(at: fixture.log.size - 1)))
    #expect(record.keys.map(\.id) == report.keys.map(\.id))
    #expect(try events.open(fixture.log.event(at: 2)) == .readable(visit(of: other, 2)))
  }

  @Test func `a fold over opened events passes over erased ones`() throws {
    try fixture.appendVisits(of: person, count: 3, from: 1)
    try fixture.appendVisits(of: other, count: 2, from: 11)
    try fixture.log.append(NewEvent(type: "visit", subject: "plain"))
    #expect(try countBySubject() == [person: 3, other: 2, "plain": 1])
    try fixture.events.erase(person, from: fixture.log)
    #expect(try countBySubject() == [other: 2, "plain": 1])
  }

  private func countBySubject() throws -> [String: Int] {
    var counts: [String: Int] = [:]
    var cursor = try fixture.log.read()
    while let event = try cursor.next() {
      switch try fixture.events.open(event) {
      case .readable(let visit): counts[visit.subject ?? "", default: 0] += 1
      case .notSealed: counts[event.subject ?? "", default: 0] += 1
      case .erased: break
      }
    }
    return counts
  }

  @Test func `another holder destroys its copy when the log comes to it`() throws {
    try fixture.appendVisits(of: person, count: 1, from: 1)
    try fixture.appendVisits(of: other, count: 1, from: 2)
    let server = ErasableEvents(keys: MemoryKeyStore(try fixture.store.keys(of: person) + fixture.store.keys(of: other)))
    #expect(try server.destroyKeysErased(in: fixture.log) == [])
    let report = try fixture.events.erase(person, from: fixture.log)
    #expect(try server.open(fixture.log.event(at: 1)) == .readable(visit(of: person, 1)))
    #expect(try server.destroyKeysErased(in: fixture.log) == report.keys.map(\.id))
    #expect(try server.open(fixture.log.event(at: 1)) == .erased(key: report.keys[0].id))
    #expect(try server.open(fixture.log.event(at: 2)) == .readable(visit(of: other, 2)))
    #expect(try server.destroyKeysErased(in: fixture.log) == [])
  }

  // MARK: What is refused before anything is done

  @Test func `snapshots that hold trimmed history are not removed unasked`() throws {
    try fixture.appendVisits(of: person, count: 2, from: 1)
    try fixture.log.roll()
    try fixture.appendVisits(of: person, count: 2, from: 11)
    try fixture.log.trim(below: 3)
    try fixture.putFile("/log/projections/p/00000000000000000004.snapshot", [1])
    let refused = erasureError { try fixture.events.erase(person, from: fixture.log) }
    #expect(refused?.code == .snapshotsOfTrimmedHistory && refused?.offsets == 0..<3)
    #expect(try fixture.store.keys(of: person).count == 1 && fixture.store.pendingErasures().isEmpty)
    var copies = DerivedCopies()
    copies.snapshots = .keep
    let plan = try fixture.events.planErasure(of: person, from: fixture.log, removing: copies)
    #expect(plan.keptSnapshots.count == 1 && plan.removed.isEmpty)
    copies.snapshots = .removeWhereTrimmed
    #expect(try fixture.events.erase(person, from: fixture.log, removing: copies).removed.count == 1)
  }

  @Test func `a file that is no database, and a log opened for reading, are refused before anything is done`() throws {
    try fixture.appendVisits(of: person, count: 1, from: 1)
    try fixture.putFile("/rows/notes.txt", Array("dear diary, today".utf8))
    var copies = DerivedCopies()
    for path in ["/rows/notes.txt", "/rows"] {
      copies.databases = [path]
      #expect(erasureError { try fixture.events.erase(person, from: fixture.log, removing: copies) }?.code == .invalidArgument)
    }
    let reader = try Log.openForReading(at: "/log", options: fixture.options, environment: fixture.environment)
    #expect(erasureError { try fixture.events.erase(person, from: reader) }?.code == .readOnly)
    #expect(try fixture.store.keys(of: person).count == 1 && fixture.log.size == 2)
  }

  @Test func `an attachment's name leads nowhere else, and other content of that name stays`() throws {
    let digest = SHA256().hash(Array("photo".utf8)).bytes
    for (number, name) in ["../secret", "..", ".", "", "a/b", "same name"].enumerated() {
      let photo = EventExtension.Attachment(byteCount: 5, digest: digest, mediaType: "image/jpeg", name: name)
      let event = NewEvent(type: "t", id: visitID(UInt64(number)), extensions: [.attachment(photo)])
      try fixture.log.append(fixture.events.seal(event, for: person))
    }
    try fixture.putFile("/secret", Array("photo".utf8))
    try fixture.putFile("/attachments/a/b", Array("photo".utf8))
    try fixture.putFile("/attachments/same name", Array("image".utf8))
    var copies = DerivedCopies()
    copies.attachmentDirectories = ["/attachments"]
    let report = try fixture.events.erase(person, from: fixture.log, removing: copies)
    #expect(report.removed.isEmpty && report.missingAttachments.count == 6)
    #expect(fixture.disk.image.files(under: "/attachments").count == 2 && fixture.disk.image.contents(of: "/secret") != nil)
  }

  @Test func `a file beside the log goes without being named, and others stay`() throws {
    let digests = ["photo", "image"].map { SHA256().hash(Array($0.utf8)).hexadecimal }
    try fixture.log.append(fixture.events.seal(visit(of: person, 1), for: person))
    try fixture.putFile("/log/attachments/\(digests[0])", Array("photo".utf8))
    try fixture.putFile("/log/attachments/\(digests[1])", Array("image".utf8))
    let report = try fixture.events.erase(person, from: fixture.log)
    #expect(report.removed.map(\.path) == ["/log/attachments/\(digests[0])"] && report.missingAttachments.isEmpty)
    #expect(try fixture.disk.list("/log/attachments") == [digests[1]])
  }

  @Test func `an erasure event that can't be read says so`() throws {
    let cases: [([UInt8], LogError.Code)] = [
      ([], .corrupt), ([1, 0, 0], .corrupt), ([2, 0, 0, 0], .unsupportedVersion), ([1, 0, 1, 0], .corrupt), ([1, 0, 0, 0, 0], .corrupt),
    ]
    for (data, code) in cases {
      let offset = try fixture.log.commit(control: .erasure, data: data)
      #expect(erasureError { _ = try ErasureRecord(fixture.log.event(at: offset)) }?.code == code)
    }
    try fixture.log.append(NewEvent(type: "t"))
    #expect(try ErasureRecord(fixture.log.event(at: fixture.log.size - 1)) == nil)
  }
}
