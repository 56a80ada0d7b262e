import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

/// The state machine of a device's uploads, without files and network.
@Suite struct AttachmentSessionTests {
  private let file = UploadFile(digest: SHA256().hash([1]), byteCount: 1_000_000)
  private let upload = EventID(high: 1, low: 1)
  private let complete: AttachmentAnswer

  init() { complete = AttachmentAnswer(digest: file.digest, byteCount: file.byteCount, state: .complete(signature: [])) }

  private func open(_ offset: UInt64, of file: UploadFile? = nil) -> UploadSession.Input {
    let file = file ?? self.file
    let answer = AttachmentAnswer(digest: file.digest, byteCount: file.byteCount, state: .open(upload: upload, offset: offset))
    return .answered(answer, partLimit: nil, nanoseconds: 1)
  }

  private func sending(at offset: UInt64 = 0) -> UploadSession {
    var session = UploadSession()
    _ = session.handle(.started, random: 0)
    _ = session.handle(.next(file), random: 0)
    _ = session.handle(.refreshed(isFresh: true), random: 0)
    _ = session.handle(open(offset), random: 0)
    return session
  }

  private func sent(_ actions: [UploadSession.Action]) -> (offset: UInt64, byteCount: UInt64)? {
    for case .send(_, _, let offset, let byteCount) in actions { return (offset, byteCount) }
    return nil
  }

  @Test func `it offers, sends in parts that grow, and keeps the receipt`() {
    var session = UploadSession()
    #expect(session.handle(.started, random: 0) == [.disarm] && session.state == .idle)
    #expect(session.handle(.next(file), random: 0).contains(.refresh))
    #expect(session.handle(.refreshed(isFresh: true), random: 0).contains(.offer(file)))
    var actions = session.handle(open(0), random: 0)
    var sizes: [UInt64] = []
    while let (offset, byteCount) = sent(actions), offset + byteCount < file.byteCount {
      sizes.append(byteCount)
      actions = session.handle(.advanced(to: offset + byteCount, nanoseconds: 1), random: 0)
    }
    #expect(sizes == [131_072, 262_144, 524_288])
    let last = session.handle(.answered(complete, partLimit: nil, nanoseconds: 1), random: 0)
    #expect(last == [.store(complete)])
    #expect(session.handle(.stored, random: 0) == [.disarm])
    #expect(session.state == .idle && session.file == nil)
  }

  @Test func `a server's offset counts, whatever was sent`() {
    for offset: UInt64 in [0, 1, 500_000, 999_999, 1_000_000] {
      var session = sending()
      let actions = session.handle(.refused(mismatch(offset)), random: 0)
      // One that stands at its end is asked for its receipt.
      if offset == file.byteCount { #expect(actions.contains(.offer(file))) } else { #expect(sent(actions)?.offset == offset) }
      // A second time without progress, it waits first.
      if session.state == .handshaking { _ = session.handle(open(offset), random: 0) }
      let again = session.handle(.refused(mismatch(7)), random: .max)
      #expect(session.state == .waiting && again.contains { if case .arm = $0 { true } else { false } })
      #expect(session.handle(.timerFired, random: 0).contains(.offer(file)))
    }
  }

  private func mismatch(_ offset: UInt64) -> Problem { Problem(.mismatchingOffset, "", offsets: (offset, 0)) }

  @Test func `a server that counts otherwise is not believed`() {
    for end: UInt64 in [0, 1, 131_071, 131_073, 2_000_000] {
      var session = sending()
      _ = session.handle(.advanced(to: end, nanoseconds: 1), random: 0)
      #expect(session.state == .waiting && session.trouble?.category == .transport)
    }
    var session = sending()
    let other = UploadFile(digest: SHA256().hash([2]), byteCount: 5)
    _ = session.handle(open(0, of: other), random: 0)
    #expect(session.state == .waiting)
  }

  @Test func `what the server lost begins anew`() {
    var session = sending(at: 400_000)
    #expect(session.handle(.refused(Problem(.notFound, "")), random: 0).contains(.offer(file)))
    #expect(sent(session.handle(open(0), random: 0))?.offset == 0)
  }

  @Test func `a file that does not match is looked at here`() {
    var session = sending()
    #expect(session.handle(.refused(Problem(.digestMismatch, "")), random: 0) == [.check(file)])
    _ = session.handle(.checked(isSound: true), random: 0)
    #expect(session.state == .waiting && session.trouble?.category == .corrupt)
    #expect(session.handle(.timerFired, random: 0).contains(.offer(file)))
    session = sending()
    _ = session.handle(.refused(Problem(.digestMismatch, "")), random: 0)
    let actions = session.handle(.checked(isSound: false), random: 0)
    #expect(actions.contains { if case .setAside(file, _) = $0 { true } else { false } } && session.file == nil && session.state == .idle)
  }

  @Test func `each problem has its way`() {
    for code in Problem.Code.allCases {
      var session = sending()
      let actions = session.handle(.refused(Problem(code, "", offsets: code == .mismatchingOffset ? (9, 0) : nil)), random: 0)
      switch code {
      case .unauthorized, .refreshRefused: #expect(session.state == .waitingForSignIn)
      case .revoked: #expect(session.state == .removed && actions == [.disarm])
      case .suspended, .timeout, .tooMany, .internal, .storage, .stopping, .tooLarge: #expect(session.state == .waiting)
      case .refused, .inconsistentLength: #expect(session.file == nil && session.state == .idle)
      case .mismatchingOffset: #expect(session.state == .shipping)
      case .notFound: #expect(session.state == .handshaking)
      case .digestMismatch: #expect(session.state == .checking)
      default: #expect(session.state == .refused)
      }
      #expect(session.isAlive)
    }
  }

  @Test func `whatever happens, it goes on or says why not`() {
    for seed: UInt64 in 1...300 {
      var random = SeededRandom(seed: seed)
      var session = UploadSession()
      _ = session.handle(.started, random: 0)
      for _ in 0..<200 {
        _ = session.handle(input(&random), random: random.next())
        #expect(session.isAlive)
      }
      // What came to an end with a person's decision is started again; then the file gets there.
      _ = session.handle(.stopped, random: 0)
      _ = session.handle(.conditions(isAllowed: true, isMetered: false), random: 0)
      _ = session.handle(.next(file), random: 0)
      var actions = session.handle(.started, random: 0)
      var steps = 0
      while session.file != nil, steps < 100 {
        steps += 1
        var next: UploadSession.Input = .timerFired
        for action in actions {
          switch action {
          case .refresh: next = .refreshed(isFresh: true)
          case .offer(let file): next = open(0, of: file)
          case .send(let file, _, let offset, let byteCount):
            let answer = AttachmentAnswer(digest: file.digest, byteCount: file.byteCount, state: .complete(signature: []))
            let isLast = offset + byteCount == file.byteCount
            next = isLast ? .answered(answer, partLimit: nil, nanoseconds: 1) : .advanced(to: offset + byteCount, nanoseconds: 1)
          case .store: next = .stored
          default: break
          }
        }
        actions = session.handle(next, random: 0)
      }
      #expect(session.file == nil && session.state == .idle)
    }
  }

  private func input(_ random: inout SeededRandom) -> UploadSession.Input {
    switch random.number(below: 16) {
    case 0: return .next(file)
    case 1: return .conditions(isAllowed: random.isOneIn(2), isMetered: random.isOneIn(2))
    case 2, 3: return .refreshed(isFresh: random.isOneIn(2))
    case 4: return .signedIn
    case 5: return .refused(Problem(Problem.Code.allCases[random.number(below: Problem.Code.allCases.count)], ""))
    case 6: return .failed("")
    case 7, 8: return open(UInt64(random.number(in: 0...1_000_000)))
    case 9: return .answered(complete, partLimit: 1_000, nanoseconds: 1)
    case 10: return .advanced(to: UInt64(random.number(in: 0...1_000_000)), nanoseconds: random.next())
    case 11: return .stored
    case 12: return .notProven("")
    case 13: return .checked(isSound: random.isOneIn(2))
    case 14: return random.isOneIn(2) ? .absent : .storageFailed("")
    default: return random.isOneIn(4) ? .started : .timerFired
    }
  }
}
