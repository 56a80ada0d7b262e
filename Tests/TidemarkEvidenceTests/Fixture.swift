import TestSupport
import TidemarkEvidence
import TidemarkLog

/// A log with evidence on a simulated disk, with small segments and no threads, and a server beside it.
final class Fixture {
  let disk: SimulatedDisk
  let clock: SteppingClock
  let environment: Environment
  let options: LogOptions
  let keys: KeyDirectory
  let server: Countersigner
  let policy: Policy
  private(set) var log: Log
  private(set) var evidence: Evidence

  init(seed: UInt64 = 1) throws {
    disk = SimulatedDisk()
    clock = SteppingClock()
    environment = .simulated(disk, seed: seed, clock: clock)
    var options = LogOptions()
    options.segmentByteCount = 8192
    options.zerosAheadByteCount = 2048
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    self.options = options
    try Log.create(at: "/log", options: options, environment: environment)
    log = try Log.open(at: "/log", options: options, environment: environment)
    keys = try KeyDirectory(at: "/keys", disk)
    server = try makeServer("server.example/1")
    policy = try Policy(server: server.key)
    evidence = try Evidence(log, keys: keys)
  }

  func append(_ count: Int, subject: String? = nil) throws {
    let first = Int(log.size)
    for start in stride(from: 0, to: count, by: 100) {
      try log.append(
        (start..<min(start + 100, count)).map { NewEvent(type: "scan", subject: subject, data: Array("event \(first + $0)".utf8)) })
    }
  }

  /// What the server says to the newest checkpoint, kept.
  @discardableResult
  func receipt(_ seconds: Int64 = 1_700_000_000) throws -> Receipt {
    try evidence.accept(try countersigned(seconds), policy)
  }

  func countersigned(_ seconds: Int64 = 1_700_000_000) throws -> SignedNote {
    let note = try evidence.checkpoint()
    guard let key = try evidence.key else { throw Missing() }
    let proof = try evidence.consistencyProof(from: server.size(of: evidence.origin), to: Checkpoint(note.text).head.size)
    return try server.countersign(note, proof, signedBy: key, at: Timestamp(nanoseconds: seconds * 1_000_000_000))
  }

  func reopen() throws {
    try? evidence.save()
    try? log.close()
    try open()
  }

  func kill() throws {
    disk.processKill()
    try open()
  }

  private func open() throws {
    log = try Log.open(at: "/log", options: options, environment: environment)
    evidence = try Evidence(log, keys: keys)
  }

  func audit(_ asked: Auditor.Asked = .receipted, _ policy: Policy? = nil) throws -> AuditReport {
    try Auditor(policy ?? self.policy, asked: asked).audit(at: "/log", environment: environment)
  }

  /// The directory of the history tree.
  var directory: String { "/log/evidence/\(log.identity.epochID.hexadecimal)" }

  /// The descriptor of each event, computed again one by one.
  func descriptors() throws -> [Descriptor] {
    let hasher = SHA256()
    var session = Digest256.zero
    return try (log.first..<log.size).map { offset in
      let event = try log.event(at: offset)
      let descriptor = Descriptor(event.view, session: session, hasher)
      if event.kind == .session { session = hasher.hash(event.data) }
      return descriptor
    }
  }
}

struct Missing: Error {}

/// A countersigner that keeps its memory in memory.
func makeServer(_ name: String, _ memory: MemoryHeads = MemoryHeads()) throws -> Countersigner {
  let disk = SimulatedDisk()
  let keys = try KeyDirectory(at: "/server", disk)
  return try Countersigner(name: name, keys: keys, publicKey: keys.makeKey(), memory: memory)
}

final class MemoryHeads: CountersignerMemory {
  private var heads: [String: CountersignedHead] = [:]
  var isBroken = false
  /// As a server that forgets when it signed last.
  var forgetsTimes = false

  func last(of origin: String) -> CountersignedHead? { heads[origin] }
  func keep(_ next: CountersignedHead, of origin: String) throws {
    if isBroken { throw Missing() }
    heads[origin] = forgetsTimes ? CountersignedHead(next.head, seconds: 0) : next
  }
}

func code(_ body: () throws -> Void) -> LogError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? LogError)?.code
  }
}

/// MTH of RFC 6962, section 2.1, as it is written there.
func naiveRoot(_ leaves: ArraySlice<Digest256>, _ hasher: SHA256) -> Digest256 {
  guard let first = leaves.first else { return hasher.hash([]) }
  if leaves.count == 1 { return first }
  var split = 1
  while split * 2 < leaves.count { split *= 2 }
  let left = naiveRoot(leaves.prefix(split), hasher)
  let right = naiveRoot(leaves.dropFirst(split), hasher)
  return hasher.hash([1] + left.bytes + right.bytes)
}
