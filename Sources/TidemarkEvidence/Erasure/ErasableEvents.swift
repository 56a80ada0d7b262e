public import TidemarkLog

/// Events that can be erased although no byte of the log ever changes: they are encrypted under a key of their subject, and erasing the
/// subject destroys the key.
///
/// ```swift
/// let events = ErasableEvents(keys: FileKeyStore(directory: "keys"))
/// try log.append(events.seal(NewEvent(type: "visit", subject: "person-17", data: data), for: "person-17"))
/// let report = try events.erase("person-17", from: log)
/// ```
///
/// `Specs/erasure.md` has the format, and says what erasure destroys and what remains.
public struct ErasableEvents: Sendable {
  /// The content type of sealed events.
  public static let contentType = "application/vnd.tidemark.sealed"

  /// Where the keys are.
  public let keys: any SubjectKeyStore

  /// - Parameter keys: where the keys are.
  public init(keys: any SubjectKeyStore) { self.keys = keys }

  // MARK: Sealing

  /// An event to append in place of another: encrypted are subject, actor, content type, data, and all extensions but those that name other
  /// events. Id, type and time stay in the clear; for subject and actor stand pseudonyms.
  ///
  /// The same event with the same id, sealed again under the same key, gives the same bytes, so that appending it again is recognised as a
  /// repeat. Without an id it is given one.
  ///
  /// - Parameters:
  ///   - event: in the clear.
  ///   - subject: whose data it is: 1 to 1,024 bytes. It need not be the event's own subject, which may be a thing.
  ///   - hidesID: gives the event another id, which follows from its own under the key: for ids that were made of personal data, such as
  ///     hashes of names. Nobody can tell the one from the other once the key is destroyed.
  ///
  /// Throws `LogError.Code.invalidEvent` for an event that is sealed already or a subject without a name, `LogError.Code.stringTooLong`,
  /// `keysNotPrivate`, `damagedKey`, and errors of the file system.
  ///
  /// ```swift
  /// let sealed = try events.seal(NewEvent(type: "visit", actor: "nurse-3", data: data), for: "person-17")
  /// ```
  public func seal(_ event: NewEvent, for subject: String, hidesID: Bool = false) throws -> NewEvent {
    try check(event, subject)
    let key = try keys.key(for: subject)
    var sealed = event
    let given = event.id.map { hidesID ? key.eventID(for: $0) : $0 }
    let id = given ?? EventID(time: SystemClock().now().time, random: Self.randomWords())
    sealed.id = id
    sealed.subject = key.pseudonym.hexadecimal
    sealed.actor = event.actor.flatMap { $0.isEmpty ? nil : key.pseudonym(ofActor: $0).hexadecimal }
    sealed.contentType = Self.contentType
    sealed.extensions = event.extensions.filter(\.namesEvent) + [.subjectKey(key.id)]
    let message = SealedEnvelope.encode(
      subject: event.subject, actor: event.actor, contentType: event.contentType, extensions: event.extensions.filter { !$0.namesEvent },
      data: event.data)
    let associatedData = SealedEnvelope.associatedData(
      id: id, key: key.id, type: Array(sealed.type.utf8).rawSpan, subject: Array((sealed.subject ?? "").utf8).rawSpan,
      actor: Array((sealed.actor ?? "").utf8).rawSpan)
    let nonce = key.nonce(for: id, associatedData, message)
    var eventKey = key.eventKey(for: id)
    defer { Ed25519.wipe(&eventKey) }
    sealed.data = SealedEnvelope(
      nonce: nonce, commitment: SubjectKey.commitment(to: eventKey),
      ciphertext: XChaCha20Poly1305.seal(message, associatedData: associatedData, nonce: nonce, key: eventKey)
    ).encode()
    return sealed
  }

  private static func randomWords() -> (UInt64, UInt64) {
    let id = SubjectKey.randomID()
    return (id.high, id.low)
  }

  private func check(_ event: NewEvent, _ subject: String) throws(LogError) {
    if event.contentType == Self.contentType || event.extensions.contains(where: \.isSubjectKey) {
      throw LogError(
        .invalidEvent, "an event can't be sealed", why: "it is sealed already, or names a key itself", advice: "append it as it is")
    }
    try Self.check(subject)
    for (what, text, limit) in [
      ("type", event.type, 255), ("subject", event.subject ?? "", 1024), ("actor", event.actor ?? "", 255),
      ("content type", event.contentType ?? "", 255),
    ] where text.utf8.count > limit {
      throw LogError(
        .stringTooLong, "an event can't be sealed", why: "its \(what) takes \(text.utf8.count) bytes, the limit is \(limit)",
        advice: "shorten it")
    }
    _ = try EventExtension.encodedLength(event.extensions.filter { !$0.namesEvent })
  }

  static func check(_ subject: String) throws(LogError) {
    guard (1...1024).contains(subject.utf8.count) else {
      throw LogError(
        subject.isEmpty ? .invalidEvent : .stringTooLong, "a subject can't have a key",
        why: "its name takes \(subject.utf8.count) bytes; 1 to 1024 are allowed", advice: "name the person or thing whose data it is")
    }
  }

  // MARK: Opening

  /// What a sealed event says.
  ///
  /// Throws `damagedEnvelope`, `keyMismatch`, `LogError.Code.unsupportedVersion`, `unknownKey` if the store has never heard of the key,
  /// `LogError.Code.corrupt` for extensions that can't be taken apart, `keysNotPrivate`, `damagedKey`, and errors of the file system.
  ///
  /// ```swift
  /// guard case .readable(let event) = try events.open(log.event(at: 41)) else { return }
  /// ```
  public func open(_ event: Event) throws -> OpenedEvent { try open(event.view) }

  /// The same where the event lies in a reader's buffer: what a projection's `apply` calls.
  public func open(_ event: EventView) throws -> OpenedEvent {
    guard let id = try event.subjectKey else { return .notSealed }
    // A version that is not known may name its key elsewhere: that is said first, and before a key is asked for.
    let envelope = try SealedEnvelope(event.data, at: event.offset)
    switch try keys.find(id) {
    case .key(let key): return .readable(try Self.open(event, envelope, key))
    case .destroyed: return .erased(key: id)
    case .unknown:
      throw LogError(
        .unknownKey, "a sealed event can't be opened", offsets: event.offset..<event.offset + 1, why: "the key \(id) is not in this store",
        advice: "name the store that has it; that it was destroyed would be known there")
    }
  }

  static func open(_ event: EventView, with key: SubjectKey) throws -> NewEvent {
    try open(event, SealedEnvelope(event.data, at: event.offset), key)
  }

  private static func open(_ event: EventView, _ envelope: SealedEnvelope, _ key: SubjectKey) throws -> NewEvent {
    var eventKey = key.eventKey(for: event.id)
    defer { Ed25519.wipe(&eventKey) }
    guard BLAKE2b.areEqual(SubjectKey.commitment(to: eventKey), envelope.commitment) else {
      throw LogError(
        .keyMismatch, "a sealed event can't be opened", offsets: event.offset..<event.offset + 1,
        why: "its data commits to another key than that of event \(event.id) under key \(key.id)",
        advice: "run verify: the data was altered, or is another event's")
    }
    let associatedData = SealedEnvelope.associatedData(
      id: event.id, key: key.id, type: event.typeBytes, subject: event.subjectBytes, actor: event.actorBytes)
    guard
      let message = XChaCha20Poly1305.open(
        envelope.ciphertext, associatedData: associatedData, nonce: envelope.nonce, key: eventKey)
    else { throw LogError.damagedEnvelope(event.offset, "it was altered, or its event's id, type, subject or actor was") }
    var opened = NewEvent(type: event.type, id: event.id, extensions: try event.extensions.filter(\.namesEvent))
    if event.isTimeFromCaller {
      opened.time = event.time
      opened.timeFractionDigits = event.timeFractionDigits
      opened.utcOffsetMinutes = event.utcOffsetMinutes
    }
    try SealedEnvelope.decode(message, into: &opened, at: event.offset)
    return opened
  }
}

/// What opening an event gave.
public enum OpenedEvent: Sendable, Equatable {
  /// The event as it was before it was sealed.
  case readable(NewEvent)
  /// The key of that id is destroyed: nobody reads it any more, if every holder has destroyed its copy.
  case erased(key: EventID)
  /// It was never sealed: its own fields are in the clear.
  case notSealed
}

extension EventView {
  /// The key that a sealed event names; nil for others.
  package var subjectKey: EventID? {
    get throws {
      // Most events are not sealed: no array is made for them.
      guard contentTypeBytes.equals(Array(ErasableEvents.contentType.utf8).rawSpan) else { return nil }
      for case .subjectKey(let id) in try extensions { return id }
      throw LogError.damagedEnvelope(offset, "its event names no key")
    }
  }
}

extension EventExtension {
  /// Whether it is about another event, by its id: that stays in the clear, as corrections work by it.
  var namesEvent: Bool {
    switch self {
    case .correlation, .causation, .supersedes: true
    case .attachment, .locationFix, .subjectKey, .attribute, .unknown: false
    }
  }

  var isSubjectKey: Bool { if case .subjectKey = self { true } else { false } }
}
