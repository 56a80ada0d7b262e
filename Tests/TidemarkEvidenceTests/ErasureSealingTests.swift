import Foundation
import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct ErasureSealingTests {
  let fixture: ErasureFixture
  let person = "person-17"

  init() throws { fixture = try ErasureFixture() }

  /// Appends it sealed, and opens what the log then has.
  private func roundTrip(_ event: NewEvent, _ events: ErasableEvents) throws -> OpenedEvent {
    let appended = try fixture.log.append(events.seal(event, for: person))
    return try events.open(fixture.log.event(at: appended.offset))
  }

  @Test(arguments: ["files", "memory"])
  func `what was sealed opens as it was, whatever it has`(_ kind: String) throws {
    let events = kind == "files" ? fixture.events : ErasableEvents(keys: MemoryKeyStore())
    let time = Timestamp(nanoseconds: 1_357_016_400_123_000_000)
    let all: [NewEvent] = [
      NewEvent(type: "t", id: visitID(1)),
      visit(of: person, 2),
      NewEvent(type: "t", subject: "gate-7", time: time, timeFractionDigits: 3, utcOffsetMinutes: -300, id: visitID(3)),
      NewEvent(
        type: String(repeating: "t", count: 255), subject: String(repeating: "s", count: 1024), actor: String(repeating: "a", count: 255),
        contentType: String(repeating: "c", count: 255), id: visitID(4), data: [UInt8](repeating: 7, count: 5000)),
      NewEvent(
        type: "t", id: visitID(5),
        extensions: [
          .correlation(visitID(6)), .causation(visitID(7)), .supersedes(visitID(8)),
          .locationFix(.init(time: time, elapsed: 5, accuracyMillimetres: 6)), .unknown(tag: 900, value: [1, 2, 3]),
        ]),
    ]
    for event in all { #expect(try roundTrip(event, events) == .readable(event)) }
    try fixture.log.seal()
    let stored = try fixture.log.events(in: 0..<fixture.log.size)
    #expect(try stored.map { try events.open($0) } == all.map { .readable($0) })
  }

  @Test func `without an id it is given one, and what has neither subject nor actor has none afterwards`() throws {
    let sealed = try fixture.events.seal(NewEvent(type: "t"), for: person)
    let given = try #require(sealed.id)
    #expect(given != .zero && sealed.actor == nil)
    #expect(try fixture.events.seal(NewEvent(type: "t"), for: person).id != given)
    guard case .readable(let opened) = try roundTrip(sealed.id.map { NewEvent(type: "t", id: $0) } ?? sealed, fixture.events) else {
      Issue.record("it does not open")
      return
    }
    #expect(opened == NewEvent(type: "t", id: given))
  }

  @Test func `in the clear stand id, type, time, pseudonyms, the key's id and other events' ids alone`() throws {
    let event = visit(of: person, 1)
    let sealed = try fixture.events.seal(event, for: person)
    let key = try #require(try fixture.store.keys(of: person).first)
    #expect(sealed.id == event.id && sealed.type == "visit" && sealed.time == nil)
    #expect(sealed.subject == key.pseudonym.description.filter { $0 != "-" } && sealed.contentType == "application/vnd.tidemark.sealed")
    #expect(sealed.actor?.utf8.count == 32 && sealed.extensions == [.correlation(visitID(1000)), .subjectKey(key.id)])
    for marker in markers(of: person) { #expect(!sealed.data.contains(bytesOf: marker)) }
    #expect(key.subject == person && key.secret.count == 32 && key.id != key.pseudonym)
  }

  @Test func `an actor has one pseudonym with one subject, and another with another`() throws {
    func actor(_ name: String, _ subject: String, _ number: UInt64) throws -> String? {
      try fixture.events.seal(NewEvent(type: "t", actor: name, id: visitID(number)), for: subject).actor
    }
    let first = try actor("nurse-3", person, 1)
    #expect(try actor("nurse-3", person, 2) == first && first != nil)
    #expect(try actor("nurse-4", person, 3) != first && actor("nurse-3", "person-18", 4) != first)
  }

  /// Whoever appends again after a failure, with the same ids, must be told of the first time, not of a conflict.
  @Test func `sealed again it is the same, and the log knows it again`() throws {
    let event = visit(of: person, 1)
    let first = try fixture.events.seal(event, for: person)
    #expect(try fixture.events.seal(event, for: person) == first)
    let appended = try fixture.log.append(first)
    try fixture.restart()
    let again = try fixture.log.append(fixture.events.seal(event, for: person))
    #expect(again.isDuplicate && again.offset == appended.offset)
    // Anything else about it gives another nonce.
    var other = event
    other.data.append(0)
    let sealed = try fixture.events.seal(other, for: person)
    #expect(sealed.data[1..<25] != first.data[1..<25] && sealed.data[25..<57] == first.data[25..<57])
    #expect(erasureError { try fixture.log.append(sealed) }?.code == .conflict)
  }

  @Test func `an id that tells something can be hidden, and is the same each time`() throws {
    let event = visit(of: person, 1)
    let hidden = try fixture.events.seal(event, for: person, hidesID: true)
    let id = try #require(hidden.id)
    #expect(id != event.id && id.high & 0xF000 == 0x8000 && id.low >> 62 == 2)
    #expect(try fixture.events.seal(event, for: person, hidesID: true) == hidden)
    #expect(try fixture.events.seal(event, for: "person-18", hidesID: true).id != id)
    let appended = try fixture.log.append(hidden)
    var opened = event
    opened.id = id
    #expect(try fixture.events.open(fixture.log.event(at: appended.offset)) == .readable(opened))
  }

  @Test func `what can't be sealed is refused with a reason`() throws {
    let events = fixture.events
    let sealed = try events.seal(NewEvent(type: "t", id: visitID(1)), for: person)
    let long = String(repeating: "x", count: 1025)
    let cases: [(NewEvent, String, LogError.Code)] = [
      (sealed, person, .invalidEvent), (NewEvent(type: "t", extensions: [.subjectKey(visitID(1))]), person, .invalidEvent),
      (NewEvent(type: "t"), "", .invalidEvent), (NewEvent(type: "t"), long, .stringTooLong),
      (NewEvent(type: "t", subject: long), person, .stringTooLong), (NewEvent(type: long), person, .stringTooLong),
      (NewEvent(type: "t", actor: String(repeating: "x", count: 256)), person, .stringTooLong),
      (NewEvent(type: "t", contentType: String(repeating: "x", count: 256)), person, .stringTooLong),
      (NewEvent(type: "t", extensions: [.unknown(tag: 9, value: [UInt8](repeating: 0, count: 65_535))]), person, .stringTooLong),
    ]
    for (event, subject, code) in cases {
      let refused = erasureError { _ = try events.seal(event, for: subject) }
      #expect(refused?.code == code && refused?.why.isEmpty == false && refused?.advice.isEmpty == false)
    }
    // It does not wait for the log to refuse it, and leaves no key behind.
    #expect(try fixture.store.keys(of: long).isEmpty)
  }

  @Test func `an event that was never sealed is told apart`() throws {
    try fixture.log.append([NewEvent(type: "t", subject: person), NewEvent(type: "t", extensions: [.subjectKey(visitID(9))])])
    for event in try fixture.everything() { #expect(try fixture.events.open(event) == .notSealed) }
  }

  // MARK: Vectors

  private struct Vector: Decodable {
    struct Key: Decodable {
      var id: String
      var pseudonym: String
      var subject: String
      var secret: String
    }
    struct Given: Decodable {
      var id: String
      var type: String
      var subject: String
      var actor: String
      var content_type: String
      var extensions: String
      var data: String
    }
    struct Stored: Decodable {
      var subject: String
      var actor: String
      var data: String
    }
    var name: String
    var key: Key
    var event: Given
    var stored: Stored
  }

  /// They were made by tools/erasure.py, from the document alone.
  @Test func `envelopes are those of the vectors`() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Specs/vectors/envelopes.json")
    let vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))
    #expect(vectors.count == 5)
    for vector in vectors {
      let key = SubjectKey(
        id: try #require(EventID(vector.key.id)), pseudonym: try #require(EventID(vector.key.pseudonym)), subject: vector.key.subject,
        secret: try #require(erasureBytes(vector.key.secret)))
      let events = ErasableEvents(keys: MemoryKeyStore([key]))
      let given = vector.event
      let event = NewEvent(
        type: given.type, subject: given.subject.isEmpty ? nil : given.subject, actor: given.actor.isEmpty ? nil : given.actor,
        contentType: given.content_type.isEmpty ? nil : given.content_type, id: EventID(given.id),
        extensions: given.extensions.isEmpty ? [] : [.attribute(name: "ward", value: "süd")],
        data: try #require(erasureBytes(given.data)))
      let sealed = try events.seal(event, for: key.subject)
      #expect(sealed.subject == vector.stored.subject && sealed.actor ?? "" == vector.stored.actor, "\(vector.name)")
      #expect(sealed.data.hexadecimal == vector.stored.data, "\(vector.name)")
      let appended = try fixture.log.append(sealed)
      #expect(try events.open(fixture.log.event(at: appended.offset)) == .readable(event), "\(vector.name)")
    }
  }
}
