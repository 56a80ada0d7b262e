import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// Envelopes that somebody has altered, cut or moved.
@Suite struct ErasureEnvelopeTests {
  let fixture: ErasureFixture
  let person = "person-17"

  init() throws { fixture = try ErasureFixture() }

  /// What opening gives for an event that is stored like this.
  private func open(_ event: NewEvent) throws -> OpenedEvent {
    var event = event
    // The log knows ids again: each attempt goes into a log of its own.
    event.id = event.id ?? visitID(1)
    let other = try ErasureFixture()
    let appended = try other.log.append(event)
    return try fixture.events.open(other.log.event(at: appended.offset))
  }

  private func refusal(_ event: NewEvent) -> LogError? { erasureError { _ = try open(event) } }

  @Test func `every byte that is flipped is noticed, and the error says which part`() throws {
    let sealed = try fixture.events.seal(NewEvent(type: "visit", subject: person, id: visitID(1), data: [1, 2, 3]), for: person)
    #expect(sealed.data.count == 57 + 6 + 9 + 3 + 16)
    for position in sealed.data.indices {
      let bits: [UInt8] = position == 0 ? [1, 2, 4, 8, 16, 32, 64, 128] : [1 << UInt8(position & 7)]
      for bit in bits {
        var altered = sealed
        altered.data[position] ^= bit
        let refused = refusal(altered)
        let code: LogError.Code = position == 0 ? .unsupportedVersion : (25..<57).contains(position) ? .keyMismatch : .damagedEnvelope
        #expect(refused?.code == code && refused?.offsets == 1..<2, "byte \(position)")
        #expect(refused?.why.isEmpty == false && refused?.advice.isEmpty == false)
      }
    }
  }

  @Test func `cut at every length it is refused`() throws {
    let sealed = try fixture.events.seal(NewEvent(type: "visit", subject: person, id: visitID(1), data: [1, 2, 3]), for: person)
    for count in sealed.data.indices {
      var cut = sealed
      cut.data = Array(sealed.data[..<count])
      #expect(refusal(cut)?.code == .damagedEnvelope, "\(count) bytes")
    }
    var longer = sealed
    longer.data.append(0)
    #expect(refusal(longer)?.code == .damagedEnvelope)
    #expect(try open(sealed) == .readable(NewEvent(type: "visit", subject: person, id: visitID(1), data: [1, 2, 3])))
  }

  @Test func `moved to another event, or under another type, subject, actor or key, it is refused`() throws {
    let first = try fixture.events.seal(visit(of: person, 1), for: person)
    let second = try fixture.events.seal(visit(of: person, 2), for: person)
    let stranger = try fixture.events.seal(visit(of: "person-18", 1), for: "person-18")
    #expect(try open(first) == .readable(visit(of: person, 1)))

    var moved = second
    moved.data = first.data
    #expect(refusal(moved)?.code == .keyMismatch)
    // The whole event under another subject, with the same id.
    var replayed = stranger
    replayed.data = first.data
    #expect(refusal(replayed)?.code == .keyMismatch)
    // Only the key's name is another's.
    var renamed = first
    renamed.extensions = stranger.extensions
    #expect(refusal(renamed)?.code == .keyMismatch)

    for change: (inout NewEvent) -> Void in [
      { $0.type = "visit2" }, { $0.type = "visiT" },
      { $0.subject = stranger.subject }, { $0.actor = stranger.actor }, { $0.actor = nil }, { $0.subject = nil },
    ] {
      var changed = first
      change(&changed)
      #expect(refusal(changed)?.code == .damagedEnvelope)
    }
    // Moving bytes between neighbouring fields does not help.
    var shifted = first
    shifted.type = "visi"
    shifted.subject = "t" + (first.subject ?? "")
    #expect(refusal(shifted)?.code == .damagedEnvelope)
  }

  @Test func `an envelope whose event names no key is no plain event`() throws {
    var sealed = try fixture.events.seal(visit(of: person, 1), for: person)
    sealed.extensions = []
    #expect(refusal(sealed)?.code == .damagedEnvelope)
  }

  @Test func `a key that the store never had is not said to be destroyed`() throws {
    let sealed = try ErasableEvents(keys: MemoryKeyStore()).seal(visit(of: person, 1), for: person)
    #expect(refusal(sealed)?.code == .unknownKey)
  }

  /// A ciphertext that opens under two keys is easy to make for this cipher. Here the wrong key is refused before it is tried.
  @Test func `another key under the same id is refused by the commitment`() throws {
    let sealed = try fixture.events.seal(visit(of: person, 1), for: person)
    let key = try #require(try fixture.store.keys(of: person).first)
    var secret = key.secret
    secret[31] ^= 1
    let other = SubjectKey(id: key.id, pseudonym: key.pseudonym, subject: person, secret: secret)
    let appended = try fixture.log.append(sealed)
    let event = try fixture.log.event(at: appended.offset)
    #expect(erasureError { _ = try ErasableEvents(keys: MemoryKeyStore([other])).open(event) }?.code == .keyMismatch)
  }
}
