import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkText

private enum Sample {
  static let id = EventID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
  static let other = EventID(high: 1, low: 2)
  static let digest = SHA256().hash(Array("root".utf8))
  static let head = TreeHead(size: 1_200, root: digest)

  static func key(_ kind: VerifierKey.Kind) throws -> VerifierKey {
    try VerifierKey(name: "tidemark/x", kind: kind, publicKey: [UInt8](repeating: 7, count: 32))
  }

  static func note() throws -> SignedNote { try SignedNote(Array("tidemark/x\n3\nAAAA\n\n\u{2014} tidemark/x AAAAAAAA\n".utf8)) }
}

/// Takes each member out, and puts another kind of value in its place.
private func everyChange<M: Message>(_ message: M, optional: Set<String>) throws {
  #expect(try M(json: message.json) == message)
  let members = try JSONValue(message.json).object("it")
  var ranges: [(String, Range<Int>, Range<Int>)] = []
  let bytes = message.json
  try JSONScanner.forEachMember(of: 0..<bytes.count, in: bytes.span) { (name, value) throws(TextError) in
    ranges.append((try JSONString.decode(bytes.span, name), name, value))
  }
  #expect(ranges.count == members.names.count)
  for (name, place, value) in ranges {
    for replacement in ["null", "true", "-1", "\"\\u0000\"", "[[]]", "{}"] {
      let changed = Array(bytes[..<value.lowerBound]) + replacement.utf8 + bytes[value.upperBound...]
      let read = try? M(json: changed)
      #expect(replacement != "null" || (read == nil) != optional.contains(name), "\(M.self) \(name)")
      if replacement == "-1" { #expect(read == nil, "\(M.self) \(name)") }
    }
    let twice = Array(bytes.dropLast()) + ",".utf8 + bytes[place.lowerBound..<value.upperBound] + "}".utf8
    #expect(throws: LogError.self) { try M(json: twice) }
  }
}

@Suite("Messages")
struct MessageTests {
  @Test("are read as they were written, and without a member or with another kind of value only as documented")
  func all() throws {
    try everyChange(Enrolment(code: "K7QF", publicKey: [UInt8](repeating: 1, count: 32), name: "gate 7"), optional: ["name"])
    try everyChange(
      EnrolmentAnswer(
        device: Sample.id, tenant: "acme", refreshToken: "tmr_1", serverKey: Sample.key(.cosignature), generation: Sample.other),
      optional: [])
    try everyChange(TokenRequest(refreshToken: "tmr_1"), optional: [])
    try everyChange(TokenAnswer(accessToken: "tma_1", expiresIn: 900, refreshToken: "tmr_2"), optional: [])
    let handshake = Handshake(
      oldest: 3, head: Sample.head, key: try Sample.key(.note), introduction: [UInt8](repeating: 9, count: 64),
      receipt: TreeHead(size: 4, root: Sample.digest),
      parent: .init(epoch: Sample.other, fork: Sample.head),
      clock: .init(wall: Timestamp(nanoseconds: 1_700_000_000_123_456_789), elapsed: .max, boot: Sample.id),
      program: "guard")
    try everyChange(handshake, optional: ["introduction", "receipt", "parent", "clock", "program"])
    try everyChange(
      HandshakeAnswer(
        log: Sample.id, epoch: Sample.other, generation: Sample.id, sender: Sample.other, accepted: Sample.head, settled: 9,
        receipt: Sample.note(), through: .max, limits: Limits()),
      optional: ["receipt"])
    let outcomes = [
      Outcome(offset: 7, kind: .duplicate(log: Sample.other, offset: 8)),
      Outcome(offset: 9, kind: .quarantined(.conflict, detail: "\u{2603} \"", digests: ["00", "ff"])),
    ]
    try everyChange(
      ShipmentAnswer(
        log: Sample.id, epoch: Sample.other, offsets: 5..<10, generation: Sample.id, accepted: 10, settled: 0, changes: 3...7,
        outcomes: outcomes, receipt: Sample.note()),
      optional: ["first_change"])
    try everyChange(outcomes[0], optional: [])
    try everyChange(outcomes[1], optional: ["detail", "digests"])
    try everyChange(Limits(), optional: [])
  }

  @Test("an answer counts only with its own media type")
  func mediaType() {
    let message = TokenAnswer(accessToken: "a", expiresIn: 1, refreshToken: "b")
    var response = message.response()
    #expect(TokenAnswer(answer: response) == message)
    for type in ["text/html", "application/json", "application/vnd.tidemark+jsonx", "", nil] {
      response.fields["Content-Type"] = type
      #expect(TokenAnswer(answer: response) == nil)
    }
    response.fields["Content-Type"] = "Application/Vnd.Tidemark+JSON ; charset=utf-8"
    #expect(TokenAnswer(answer: response) == message)
    response.body = Array("<html>".utf8)
    #expect(TokenAnswer(answer: response) == nil)
  }

  @Test("each problem has a status, a class and an action, and is read only as it was sent", arguments: Problem.Code.allCases)
  func problems(code: Problem.Code) {
    let problem = Problem(code, "why \u{1F30A}", retryAfter: 7, snapshot: "/v1/changes/snapshot")
    var response = problem.response
    #expect((400..<600).contains(response.status))
    #expect(Problem(response) == problem)
    response.status += 1
    #expect(Problem(response) == nil)
    response.status -= 1
    response.fields["content-type"] = "text/html"
    #expect(Problem(response) == nil)
    // The table of Specs/protocol.md: what can be tried again is never about the request itself.
    #expect((problem.problemClass == .permanent) == (problem.action == .report))
    #expect((problem.problemClass == .retryable) == (problem.action == .retry))
  }

  @Test("the digest of a body is that of RFC 9530's form")
  func contentDigest() {
    // SHA-256 of nothing (RFC 6234's algorithm; base64 by the openssl command line).
    let empty = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
    #expect(ContentDigestField.value(of: []) == empty)
    #expect(ContentDigestField.matches(empty, []) == true)
    #expect(ContentDigestField.matches("sha-512=:AA==:, \(empty)", []) == true)
    #expect(ContentDigestField.matches(empty, [1]) == false)
    #expect(ContentDigestField.matches("sha-512=:AA==:", []) == nil)
  }
}

@Suite("Waiting for the next attempt")
struct BackoffTests {
  @Test("doubles its limit up to five minutes, fifteen on a metered network, and what the server asks for wins")
  func limits() {
    for (isMetered, most) in [(false, UInt64(300)), (true, 900)] {
      var backoff = Backoff()
      for attempt in 0..<100 {
        let limit = min(most, attempt < 20 ? 1 << UInt64(attempt) : most) * 1_000_000_000
        var low = backoff
        #expect(low.failed(isMetered: isMetered, retryAfter: nil, random: 0) == 0)
        #expect(backoff.failed(isMetered: isMetered, retryAfter: nil, random: .max) == limit)
      }
      #expect(backoff.failed(isMetered: isMetered, retryAfter: 7, random: .max) == 7_000_000_000)
      #expect(backoff.failed(isMetered: isMetered, retryAfter: .max, random: 0) == 86_400_000_000_000)
      #expect(backoff.attempts == 102)
      backoff.succeeded()
      #expect(backoff == Backoff())
    }
  }
}

@Suite("Settling positions")
struct SettlementTests {
  /// What a server that has `accepted` events of a history makes of a device, whose roots agree up to `common`.
  private func settle(_ oldest: Offset, _ size: Offset, _ receipted: Offset, accepted: Offset, common: Offset = .max) throws -> Settlement {
    func root(_ size: Offset, _ branch: UInt8) -> Digest256 {
      SHA256().hash([size <= common ? 0 : branch] + Array(String(size).utf8))
    }
    return try Settlement.of(
      .init(oldest: oldest, size: size, receipted: receipted), accepted: TreeHead(size: accepted, root: root(accepted, 1)),
      rootAt: { (size) throws(LogError) in size >= oldest ? root(size, 2) : nil },
      serverRootAt: { (size) throws(LogError) in root(size, 1) })
  }

  @Test("is as the table of positions has it")
  func table() throws {
    #expect(try settle(0, 20, 10, accepted: 10) == .continue(from: 10))
    #expect(try settle(0, 20, 0, accepted: 0) == .continue(from: 0))
    #expect(try settle(0, 20, 10, accepted: 15) == .fastForward(from: 15))
    #expect(try settle(0, 20, 10, accepted: 20) == .fastForward(from: 20))
    #expect(try settle(0, 20, 10, accepted: 7) == .rewind(from: 7))
    #expect(try settle(0, 20, 10, accepted: 0) == .rewind(from: 0))
    #expect(try settle(5, 20, 10, accepted: 3) == .gap(missing: 3..<5))
    #expect(try settle(5, 20, 10, accepted: 0) == .gap(missing: 0..<5))
    #expect(try settle(0, 20, 10, accepted: 25) == .refill(from: 20))
    #expect(try settle(0, 20, 10, accepted: 25, common: 19) == .newEpoch)
    #expect(try settle(0, 20, 10, accepted: 15, common: 14) == .newEpoch)
  }

  @Test("never leaves out what the server lacks, and never ships what differs")
  func everyPosition() throws {
    for oldest: Offset in 0...4 {
      for size in oldest...6 {
        for receipted in 0...size {
          for accepted: Offset in 0...8 {
            for common: Offset in 0...8 {
              let found = try settle(oldest, size, receipted, accepted: accepted, common: common)
              let compared = min(accepted, size)
              let differs = compared > common && compared >= oldest
              #expect((found == .newEpoch) == differs)
              switch found {
              case .continue(let from), .fastForward(let from), .rewind(let from):
                #expect(from == accepted && from >= oldest && from <= size)
              case .gap(let missing): #expect(missing == accepted..<oldest)
              case .refill(let from): #expect(from == size && accepted > size)
              case .newEpoch: break
              }
            }
          }
        }
      }
    }
  }
}
