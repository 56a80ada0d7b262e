import Foundation
import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections
import TidemarkSQLite

@Suite struct LookAlikeTests {
  private func event(_ text: String, time: Int64 = 1, id: UInt64? = nil, subject: String? = "s") -> NewEvent {
    NewEvent(
      type: "scan", subject: subject, time: Timestamp(nanoseconds: time), id: id.map { EventID(high: 1, low: $0) }, data: Array(text.utf8))
  }

  @Test func `what differs in anything but its id is not alike`() throws {
    let fixture = try Fixture()
    let log = fixture.log
    try log.append([
      event("a"), event("b"), event("a"), event("a", time: 2), event("a", subject: nil), event("b"), event("a"), event("ab"),
    ])
    // Before them stands the session's record.
    let first: Offset = 1
    let alike = try LookAlikes(of: log, file: fixture.file)
    #expect(try alike.groups().isEmpty && alike.count() == 0)
    #expect(try alike.catchUp() == log.size)
    #expect(
      try alike.groups() == [
        LookAlikes.Group(first: first, others: [first + 2, first + 6]), LookAlikes.Group(first: first + 1, others: [first + 5]),
      ])
    #expect(try alike.count() == 3)
    #expect(try alike.groups(from: first + 1).count == 1 && alike.groups(limit: 1).count == 1)
  }

  @Test func `it goes on where it was, in steps and after another opening`() throws {
    let fixture = try Fixture()
    let log = fixture.log
    var expected: [Offset: [Offset]] = [:]
    var seen: [String: Offset] = [:]
    var random = SeededRandom(seed: 3)
    for _ in 0..<20 {
      let alike = try LookAlikes(of: log, file: fixture.file)
      #expect(alike.position == 0 || alike.position == log.size)
      for _ in 0..<random.number(in: 1...30) {
        let text = "\(random.number(below: 40))"
        let offset = try log.append(event(text)).offset
        if let first = seen[text] { expected[first, default: []].append(offset) } else { seen[text] = offset }
      }
      try alike.catchUp()
    }
    let found = try LookAlikes(of: log, file: fixture.file).groups()
    #expect(found == expected.sorted { $0.key < $1.key }.map { LookAlikes.Group(first: $0.key, others: $0.value) })
  }

  @Test func `what is no such database is refused, and damage is counted`() throws {
    let fixture = try Fixture()
    try fixture.log.append((0..<20).map { event("\($0)") })
    try fixture.log.seal()
    for place in ["", ":memory:"] {
      #expect(error { _ = try LookAlikes(of: fixture.log, file: place) }?.code == .invalidArgument)
    }
    let other = fixture.folder + "/text"
    try "no database".write(toFile: other, atomically: false, encoding: .utf8)
    #expect(error { _ = try LookAlikes(of: fixture.log, file: other) }?.code == .notADatabase)
    try LookAlikes(of: fixture.log, file: fixture.file).catchUp()
    let connection = try Connection(fixture.file)
    _ = try connection.rows("UPDATE tidemark_look_alikes_applied SET schema = 2")
    #expect(error { _ = try LookAlikes(of: fixture.log, file: fixture.file) }?.code == .unsupportedVersion)
    let path = try #require(fixture.disk.image.files(under: "/log/segments").first { $0.hasSuffix(".sealed") })
    try fixture.disk.image.flipBit(4300 * 8, of: path)
    let damaged = try LookAlikes(of: try fixture.reader(), file: fixture.folder + "/damaged.sqlite")
    try damaged.catchUp()
    #expect(damaged.damagedOffsetCount > 0)
  }

  @Test func `a database of another log is begun anew, and work that was stopped is not there`() throws {
    let fixture = try Fixture()
    let log = fixture.log
    try log.append((0..<3000).map { event("\($0 % 1500)") })
    let path = fixture.file
    let stopped = try LookAlikes(of: log, file: path)
    #expect(throws: LogError.self) { try stopped.catchUp { _ in false } }
    #expect(try stopped.position == 0 && stopped.count() == 0)
    #expect(try stopped.catchUp() == log.size && stopped.count() == 1500)
    let other = try Fixture(seed: 2).log
    try other.append([event("x"), event("x")])
    let anew = try LookAlikes(of: other, file: path)
    #expect(try anew.position == 0 && anew.count() == 0)
    try anew.catchUp()
    #expect(try anew.count() == 1)
  }
}
