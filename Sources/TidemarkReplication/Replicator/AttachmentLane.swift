internal import TidemarkEvidence
package import TidemarkLog
package import TidemarkProtocol

/// Sends the files that a log's events name, after everything else: carries out what its ``UploadSession`` says, with files but without
/// network and clock. For one thread.
///
/// The replicator asks it for one request at a time, and asks all other lanes first: so it pauses between parts while anything waits there.
package final class AttachmentLane: Lane {
  package let priority = LanePriority.attachments
  private let store: AttachmentStore
  private let grant: Credentials.Grant
  private var session = UploadSession()
  /// What the session wants to be sent.
  private var wanted: UploadSession.Action?
  package private(set) var deadline: UInt64?
  private var now: UInt64 = 0
  private var sentAt: UInt64 = 0
  /// Files that can't be sent, until it is started again.
  private var setAside: Set<UploadFile> = []
  /// What the server signed for in another generation and is still here: it is offered again, as the server may have lost it.
  private var unconfirmed: [UploadFile] = []
  private var learned: EventID?
  private var status = AttachmentStatus()

  private var log: Log { store.log }

  /// Throws errors of the file system.
  package init(_ store: AttachmentStore, _ grant: Credentials.Grant) throws {
    self.store = store
    self.grant = grant
    try store.clean()
  }

  // MARK: Lane

  package var wants: LaneWant? {
    switch wanted {
    case .refresh: .token
    case .offer, .send: .request
    default: nil
    }
  }

  package func update(_ conditions: Conditions, now: UInt64) {
    self.now = now
    take(.conditions(isAllowed: conditions.allow(priority), isMetered: conditions.isMetered))
    if session.file == nil, session.state != .stopped { lookForFile() }
    if let deadline, deadline <= now {
      self.deadline = nil
      take(.timerFired)
    }
  }

  package func handle(_ input: DeviceSession.Input, now: UInt64) {
    self.now = now
    switch input {
    case .started:
      setAside = []
      lookForFile()
      take(.started)
    case .stopped: take(.stopped)
    case .refreshed(let isFresh): take(.refreshed(isFresh: isFresh))
    case .signedIn: take(.signedIn)
    case .refused(let problem): take(.refused(problem))
    case .failed(let why): take(.failed(why))
    case .storageFailed(let why): take(.storageFailed(why))
    default: break
    }
  }

  package func makeRequest(now: UInt64) -> HTTPRequest? {
    self.now = now
    sentAt = now
    while let action = wanted {
      wanted = nil
      switch action {
      case .offer(let file):
        var request = HTTPRequest("POST", "/v1/attachments", body: AttachmentOffer(digest: file.digest, byteCount: file.byteCount).json)
        request.fields["content-type"] = MediaType.json
        return request
      case .send(let file, let upload, let offset, let byteCount):
        // If there is none, the next file is wanted.
        if let request = part(file, upload, offset, byteCount) { return request }
      default:
        wanted = action
        return nil
      }
    }
    return nil
  }

  private func part(_ file: UploadFile, _ upload: EventID, _ offset: UInt64, _ byteCount: UInt64) -> HTTPRequest? {
    do {
      guard try store.isHere(file.digest, file.byteCount), let bytes = try store.read(file.digest, offset..<offset + byteCount) else {
        take(.absent)
        return nil
      }
      var request = HTTPRequest("PATCH", "/v1/uploads/\(upload.hexadecimal)", body: bytes)
      request.fields["content-type"] = MediaType.partialUpload
      request.fields[ContentDigestField.name] = ContentDigestField.value(of: bytes)
      request.fields[UploadField.offset] = String(offset)
      request.fields[UploadField.complete] = offset + byteCount == file.byteCount ? UploadField.yes : UploadField.no
      return request
    } catch {
      take(.storageFailed(text(of: error)))
      return nil
    }
  }

  package func received(_ response: HTTPResponse, now: UInt64) {
    self.now = now
    if let problem = Problem(response) { return take(.refused(problem)) }
    let passed = now < sentAt ? 0 : now - sentAt
    switch response.status {
    case 200, 201:
      guard let answer = AttachmentAnswer(answer: response) else { break }
      let limit = UploadField.number("max-append-size", in: response.fields[UploadField.limit])
      return take(.answered(answer, partLimit: limit, nanoseconds: passed))
    case 204:
      // Whoever else answers 204 does not say this.
      guard let offset = UploadField.number(response.fields[UploadField.offset]), response.fields[UploadField.complete] != nil else {
        break
      }
      return take(.advanced(to: offset, nanoseconds: passed))
    default: break
    }
    take(.failed("status \(response.status) with \(response.fields["content-type"] ?? "nothing") is not the server's answer"))
  }

  package func report(to statuses: inout [Status]) {
    updateStatus()
    for index in statuses.indices where statuses[index].log == log.identity.logID { statuses[index].attachments = status }
  }

  package func learned(_ generation: EventID) {
    guard generation != learned else { return }
    // What fails is done with the next step.
    guard let confirmed = try? store.confirmedGeneration() ?? .zero else { return }
    if confirmed != generation {
      guard let files = try? store.acceptedFiles() else { return }
      unconfirmed = files
    }
    learned = generation
    confirm(nil)
  }

  /// A file needs no confirmation any more; after the last one that is noted.
  private func confirm(_ file: UploadFile?) {
    unconfirmed.removeAll { $0 == file }
    guard unconfirmed.isEmpty, let learned, (try? store.confirmedGeneration()) != learned else { return }
    try? store.confirm(learned)
  }

  // MARK: Steps

  private func take(_ input: UploadSession.Input) {
    var inputs = [input]
    while !inputs.isEmpty {
      for action in session.handle(inputs.removeFirst(), random: log.environment.random.next()) {
        switch action {
        case .refresh, .offer, .send: wanted = action
        case .arm(let nanoseconds): deadline = now &+ nanoseconds
        case .disarm: deadline = nil
        case .setAside(let file, let why):
          setAside.insert(file)
          confirm(file)
          status.trouble = Trouble(.permanent, "\(file.digest.hexadecimal): \(why)")
        case .store(let answer): inputs.append(store(answer))
        case .check(let file): inputs.append(outcome { .checked(isSound: try self.store.isSound(file.digest)) })
        }
      }
      if !session.state.isWork { wanted = nil }
    }
    // The next file, at once: what is under way here keeps no other lane from its turn.
    if session.file == nil, session.state == .idle { lookForFile() }
  }

  private func store(_ answer: AttachmentAnswer) -> UploadSession.Input {
    guard answer.isReceipt(by: grant.serverKey, tenant: grant.tenant) else {
      return .notProven("the server's word for a file is not signed by it")
    }
    return outcome {
      try self.store.accept(answer, by: self.grant.serverKey, tenant: self.grant.tenant)
      self.confirm(UploadFile(digest: answer.digest, byteCount: answer.byteCount))
      return .stored
    }
  }

  private func outcome(_ body: () throws -> UploadSession.Input) -> UploadSession.Input {
    do { return try body() } catch { return .storageFailed(text(of: error)) }
  }

  /// Names the next file, if there is one. What is not on this device is offered, too: the server may have it from elsewhere.
  private func lookForFile() {
    // What can't be read now is looked at again with the next step.
    guard let file = try? nextFile() else { return }
    for action in session.handle(.next(file), random: log.environment.random.next()) {
      switch action {
      case .refresh, .offer, .send: wanted = action
      case .arm(let nanoseconds): deadline = now &+ nanoseconds
      case .disarm: deadline = nil
      default: break
      }
    }
  }

  private func nextFile() throws -> UploadFile? {
    for named in try store.unacceptedAsKnown() {
      guard let digest = Digest256(named.attachment.digest) else { continue }
      let file = UploadFile(digest: digest, byteCount: named.attachment.byteCount)
      if !setAside.contains(file) { return file }
    }
    return unconfirmed.first
  }

  // MARK: Status

  private func updateStatus() {
    status.state = session.state
    status.attempts = session.attempts
    if let trouble = session.trouble { status.trouble = trouble } else if setAside.isEmpty, session.state == .idle { status.trouble = nil }
    guard let unaccepted = try? store.unacceptedAsKnown() else { return }
    status.complete = unaccepted.first?.offset ?? log.size
    status.pending = UInt64(unaccepted.count)
    status.setAside = UInt64(setAside.count)
  }
}
