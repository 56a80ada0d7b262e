@testable import TidemarkEvidence
@testable import TidemarkLog
@testable import TidemarkProtocol

/// The protocol's JSON messages, of both ends, and the fields of HTTP that are taken apart.
///
/// The first byte says which. What is taken is written, and read as the same again.
enum MessagesTarget {
  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let choice = input.u8()
    let body = input.rest()
    switch choice % 13 {
    case 0: look(Enrolment.self, body)
    case 1: look(EnrolmentAnswer.self, body)
    case 2: look(TokenRequest.self, body)
    case 3: look(TokenAnswer.self, body)
    case 4: look(Handshake.self, body)
    case 5: look(HandshakeAnswer.self, body)
    case 6: look(ShipmentAnswer.self, body)
    case 7: look(AttachmentOffer.self, body)
    case 8: look(AttachmentAnswer.self, body)
    case 9: look(Outcome.self, body)
    case 10: changes(body)
    case 11: problem(body)
    default: fields(body)
    }
  }

  private static func look<Value: Message>(_ type: Value.Type, _ body: [UInt8]) {
    let value: Value
    do { value = try Value(json: body) } catch {
      explain("\(error)")
      require(error.code == .invalidText && !error.why.isEmpty, "\(Value.what) is refused with \(error)")
      return
    }
    guard let again = try? Value(json: value.json) else { violated("\(Value.what) that was written can't be read") }
    require(again == value, "\(Value.what) changes when it is written again")
  }

  private static func changes(_ body: [UInt8]) {
    var response = HTTPResponse(200, body: body)
    response.fields["content-type"] = MediaType.answer
    for name in ["changes", "items"] {
      guard let answer = ChangesAnswer(answer: response, entries: name) else { continue }
      require(answer.entries.allSatisfy { !$0.isEmpty && $0.count <= body.count }, "a change is not of the answer that brought it")
    }
  }

  /// Status and media type are what they have to be: everything else is the sender's.
  private static func problem(_ body: [UInt8]) {
    for status in [400, 401, 409, 503] {
      var response = HTTPResponse(status, body: body)
      response.fields["content-type"] = MediaType.problem
      guard let problem = Problem(response) else { continue }
      require(problem.status == status, "a problem of status \(status) is one of \(problem.status)")
      require(Problem(problem.response)?.code == problem.code, "a problem changes when it is written again")
    }
  }

  private static func fields(_ body: [UInt8]) {
    let text = String(decoding: body, as: UTF8.self)
    if ContentDigestField.matches(text, body) == true { violated("a text holds its own digest") }
    require(ContentDigestField.matches(ContentDigestField.value(of: body), body) == true, "a digest does not match its body")
    if let number = UploadField.number(text) { require(number <= Record.offsetLimit, "an offset is \(number)") }
    _ = UploadField.number("max-size", in: text)
    _ = MediaType.matches(text, MediaType.answer)
  }

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    let id = EventID(high: 1, low: 2)
    guard let key = try? VerifierKey(name: "a", kind: .note, publicKey: [UInt8](repeating: 7, count: 32)) else {
      violated("a key can't be made")
    }
    let head = TreeHead(size: 7, root: .zero)
    let note = SignedNote(
      text: "a\n7\n\n", signatures: [SignedNote.Signature(name: "a", keyID: key.keyID, bytes: [UInt8](repeating: 1, count: 64))])
    var handshake = Handshake(
      oldest: 1, head: head, key: key, introduction: [UInt8](repeating: 1, count: 64), receipt: head,
      parent: .init(epoch: id, fork: head), clock: .init(wall: Timestamp(nanoseconds: 1), elapsed: 2, boot: id), program: "p")
    handshake.known = 3
    let outcome = Outcome(offset: 3, kind: .quarantined(.conflict, detail: "d", digests: ["aa", "bb"]))
    var hands = HandshakeAnswer(
      log: id, epoch: id, generation: id, sender: id, accepted: head, settled: 1, receipt: note, through: 9, limits: Limits())
    hands.outcomes = [outcome, Outcome(offset: 4, kind: .duplicate(log: id, offset: 2))]
    let shipped = ShipmentAnswer(
      log: id, epoch: id, offsets: 3..<7, generation: id, accepted: 7, settled: 1, changes: 4...6, outcomes: [outcome], receipt: note)
    let messages: [[UInt8]] = [
      Enrolment(code: "K7QF", publicKey: key.publicKey, name: "n", signature: [UInt8](repeating: 1, count: 64)).json,
      EnrolmentAnswer(device: id, tenant: "t", refreshToken: "r", serverKey: key, generation: id).json,
      TokenRequest(refreshToken: "r").json,
      TokenAnswer(accessToken: "a", expiresIn: 900, refreshToken: "r").json, handshake.json, hands.json, shipped.json,
      AttachmentOffer(digest: .zero, byteCount: 5).json,
      AttachmentAnswer(digest: .zero, byteCount: 5, state: .open(upload: id, offset: 3)).json, outcome.json,
      Array(#"{"generation":"\#(id.hexadecimal)","since":0,"through":2,"last":3,"place":"p","changes":[{"number":1},{"number":2}]}"#.utf8),
      Problem(.unauthorized, "d").json, Array("sha-256=:AAAA:, max-size=5, 17".utf8),
    ]
    return messages.enumerated().map { ("\($0.offset)", [UInt8($0.offset)] + $0.element) } + [
      ("complete", [8] + AttachmentAnswer(digest: .zero, byteCount: 5, state: .complete(signature: [UInt8](repeating: 1, count: 64))).json)
    ]
  }
}
