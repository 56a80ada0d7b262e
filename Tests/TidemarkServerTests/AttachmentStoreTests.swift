import Foundation
import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

/// A log with files beside it on a simulated disk, and a server's key to sign for them.
final class StoreFixture {
  let disk: SimulatedDisk
  let keys: KeyDirectory
  let key: VerifierKey
  private(set) var log: Log
  private(set) var store: AttachmentStore
  private var seed: UInt64 = 1

  static let options: LogOptions = {
    var options = LogOptions()
    options.segmentByteCount = 8_192
    options.sealing = .manual
    return options
  }()

  init() throws {
    disk = SimulatedDisk()
    keys = try KeyDirectory(at: "/keys", disk)
    key = try VerifierKey(name: "server", kind: .cosignature, publicKey: keys.makeKey())
    let environment = Environment.simulated(disk, seed: 1)
    try Log.create(at: "/log", options: Self.options, environment: environment)
    log = try Log.open(at: "/log", options: Self.options, environment: environment)
    store = AttachmentStore(log)
  }

  /// The process ends, in whatever way, and begins again.
  func reopen(_ crash: () -> Void = {}) throws {
    try? log.close()
    crash()
    seed += 1
    log = try Log.open(at: "/log", options: Self.options, environment: .simulated(disk, seed: seed))
    store = AttachmentStore(log)
  }

  /// Puts files, then appends one event that names them.
  @discardableResult
  func append(_ files: [TestFile]) throws -> Offset {
    var extensions: [EventExtension] = []
    for (index, file) in files.enumerated() {
      extensions.append(.attachment(try store.put(file.bytes, mediaType: "image/jpeg", name: "\(index).jpg")))
    }
    return try log.append(NewEvent(type: "audit", extensions: extensions)).offset
  }

  func receipt(_ file: TestFile, tenant: String = "acme", byteCount: UInt64? = nil) throws -> AttachmentAnswer {
    let byteCount = byteCount ?? UInt64(file.bytes.count)
    let message = AttachmentAnswer.message(tenant: tenant, digest: file.digest, byteCount: byteCount)
    return AttachmentAnswer(
      digest: file.digest, byteCount: byteCount, state: .complete(signature: try keys.sign(message, publicKey: key.publicKey)))
  }

  func accept(_ file: TestFile) throws { try store.accept(receipt(file), by: key, tenant: "acme") }

  var names: [String] { get throws { try disk.list("/log/attachments").sorted() } }
}

@Suite struct AttachmentStoreTests {
  private let files = (1...3).map { TestFile(200 * $0, seed: UInt64($0)) }

  @Test func `content that is put twice is one file`() throws {
    let fixture = try StoreFixture()
    let first = try fixture.store.put(files[0].bytes, mediaType: "image/jpeg", name: "a.jpg")
    let second = try fixture.store.put(files[0].bytes, mediaType: "image/png", name: "b.png")
    #expect(first.digest == files[0].digest.bytes && second.digest == first.digest && first.byteCount == 200)
    #expect(try fixture.names == [files[0].digest.hexadecimal])
    let path = try #require(try fixture.store.path(of: first))
    #expect(try fixture.disk.contents(path) == files[0].bytes)
    let empty = try fixture.store.put([], mediaType: "text/plain", name: "empty")
    #expect(try empty.byteCount == 0 && fixture.store.path(of: empty) != nil)
  }

  @Test func `a file is copied a piece at a time`() throws {
    let fixture = try StoreFixture()
    for byteCount in [0, 1, 1 << 20, 3 << 20 + 17] {
      let file = TestFile(byteCount)
      let source = try fixture.disk.open("/source", .create)
      try source.write(file.bytes.rawSpan, at: 0)
      let stored = try fixture.store.put(file: "/source", mediaType: "video/mp4")
      #expect(stored.digest == file.digest.bytes && stored.name == "source" && stored.byteCount == UInt64(byteCount))
      #expect(try fixture.disk.contents(#require(try fixture.store.path(of: stored))) == file.bytes)
      try fixture.disk.remove("/source")
    }
    #expect(throws: (any Error).self) { try fixture.store.put(file: "/none", mediaType: "a/b") }
    #expect(throws: (any Error).self) { try fixture.store.put(file: "/log", mediaType: "a/b") }
    let reader = try Log.openForReading(at: "/log", options: StoreFixture.options, environment: .simulated(fixture.disk, seed: 9))
    #expect(throws: (any Error).self) { try AttachmentStore(reader).put([1], mediaType: "a/b", name: "x") }
  }

  @Test func `a set is complete once the server signed for all of it, in any order, and trimming waits`() throws {
    for order in permutations([0, 1, 2]) {
      let fixture = try StoreFixture()
      try fixture.log.append(NewEvent(type: "before"))
      let offset = try fixture.append(files)
      let size = fixture.log.size
      var left = Set(files.map(\.digest.hexadecimal))
      for index in order {
        #expect(Set(try fixture.store.unaccepted(below: size).map(\.attachment.digest.hexadecimal)) == left)
        #expect(try fixture.store.unaccepted(below: offset).isEmpty)
        #expect(try fixture.store.trimmable(below: size) == offset && fixture.store.trimmable(below: 1) == 1)
        try fixture.accept(files[index])
        // Twice is once.
        try fixture.accept(files[index])
        left.remove(files[index].digest.hexadecimal)
        if index % 2 == 0 { try fixture.reopen() }
        let reader = try Log.openForReading(at: "/log", options: StoreFixture.options, environment: .simulated(fixture.disk, seed: 9))
        #expect(try AttachmentStore(reader).counts().pending == UInt64(left.count))
      }
      #expect(try fixture.store.unaccepted().isEmpty && fixture.store.trimmable(below: fixture.log.size) == fixture.log.size)
      #expect(try fixture.store.counts().accepted == 3)
    }
  }

  @Test func `a store beside another one sees what that one accepts`() throws {
    let fixture = try StoreFixture()
    try fixture.append(files)
    let other = AttachmentStore(fixture.log)
    #expect(try other.unaccepted().count == 3)
    for (index, file) in files.enumerated() {
      try fixture.accept(file)
      #expect(try other.unaccepted().count == 2 - index)
    }
  }

  @Test func `only a receipt that counts is kept, and only what is signed for is removed`() throws {
    let fixture = try StoreFixture()
    try fixture.append(files)
    let good = try fixture.receipt(files[0])
    guard case .complete(let signature) = good.state else { return }
    for bit in 0..<512 {
      var flipped = signature
      flipped[bit / 8] ^= UInt8(1) << UInt8(bit % 8)
      let bad = AttachmentAnswer(digest: good.digest, byteCount: good.byteCount, state: .complete(signature: flipped))
      #expect(throws: (any Error).self) { try fixture.store.accept(bad, by: fixture.key, tenant: "acme") }
    }
    let others = [
      try fixture.receipt(files[0], tenant: "other"),
      AttachmentAnswer(digest: files[1].digest, byteCount: good.byteCount, state: good.state),
      AttachmentAnswer(digest: good.digest, byteCount: good.byteCount + 1, state: good.state),
      AttachmentAnswer(digest: good.digest, byteCount: good.byteCount, state: .open(upload: .zero, offset: 0)),
    ]
    for answer in others { #expect(throws: (any Error).self) { try fixture.store.accept(answer, by: fixture.key, tenant: "acme") } }
    #expect(try fixture.store.removeAccepted() == 0)
    // Signed for, but of another length than the event says: that is another file.
    try fixture.store.accept(fixture.receipt(files[0], byteCount: 7), by: fixture.key, tenant: "acme")
    #expect(try fixture.store.unaccepted().count == 3 && fixture.store.removeAccepted() == 0)
    try fixture.accept(files[1])
    #expect(try fixture.store.removeAccepted() == 400)
    #expect(try fixture.names == [files[0], files[2]].map(\.digest.hexadecimal).sorted() + ["receipts"])
    #expect(try fixture.store.counts() == counts(pending: 2, 800, accepted: 1, missing: 0))
  }

  private func counts(pending: UInt64, _ bytes: UInt64, accepted: UInt64, missing: UInt64) -> AttachmentCounts {
    var counts = AttachmentCounts()
    (counts.pending, counts.pendingByteCount, counts.accepted, counts.missing) = (pending, bytes, accepted, missing)
    return counts
  }

  @Test func `every byte of a file and of the receipts may be damaged`() throws {
    let file = TestFile(60)
    let fixture = try StoreFixture()
    try fixture.append([file])
    try fixture.append([files[0]])
    try fixture.accept(file)
    try fixture.accept(files[0])
    #expect(try fixture.store.verify() == report(checked: 2))
    let path = "/log/attachments/\(file.digest.hexadecimal)"
    for index in 0..<60 {
      try flip(fixture.disk, path, index)
      #expect(try fixture.store.verify().damaged == [path])
      try flip(fixture.disk, path, index)
    }
    let receipts = "/log/attachments/receipts"
    let whole = try #require(try fixture.disk.contents(receipts))
    for index in whole.indices {
      try flip(fixture.disk, receipts, index)
      let store = AttachmentStore(fixture.log)
      let left = try store.unaccepted()
      // A line that can't be read says nothing; a line feed that is gone takes two with it.
      #expect(left.count >= 1 && left.count <= 2, "\(index)")
      for named in left where named.attachment.digest == file.digest.bytes {
        try store.accept(fixture.receipt(file), by: fixture.key, tenant: "acme")
      }
      for named in left where named.attachment.digest != file.digest.bytes {
        try store.accept(fixture.receipt(files[0]), by: fixture.key, tenant: "acme")
      }
      #expect(try AttachmentStore(fixture.log).unaccepted().isEmpty, "\(index)")
      try fixture.disk.replace(receipts, with: whole)
    }
  }

  private func report(checked: UInt64) -> AttachmentReport {
    var report = AttachmentReport()
    report.checked = checked
    return report
  }

  private func flip(_ disk: SimulatedDisk, _ path: String, _ index: Int) throws {
    let file = try disk.open(path, .write)
    defer { file.close() }
    var byte: [UInt8] = [0]
    _ = try file.read(1, at: UInt64(index), into: &byte, at: 0)
    byte[0] ^= 1
    try file.write(byte.rawSpan, at: UInt64(index))
  }

  @Test func `what is missing is told, and can be put again`() throws {
    let fixture = try StoreFixture()
    try fixture.append(files)
    try fixture.disk.remove("/log/attachments/\(files[1].digest.hexadecimal)")
    #expect(try fixture.store.verify().missing.map(\.attachment.digest) == [files[1].digest.bytes])
    #expect(try fixture.store.counts() == counts(pending: 2, 800, accepted: 0, missing: 1))
    _ = try fixture.store.put(files[1].bytes, mediaType: "image/jpeg", name: "again.jpg")
    #expect(try fixture.store.counts().missing == 0)
  }

  @Test func `looking begins where all before was accepted`() throws {
    let fixture = try StoreFixture()
    try fixture.append([files[0]])
    try fixture.log.append((0..<600).map { _ in NewEvent(type: "scan") })
    try fixture.append([files[1]])
    #expect(try fixture.store.unaccepted().count == 2 && fixture.disk.status("/log/attachments/floor") == nil)
    try fixture.accept(files[0])
    #expect(try fixture.store.unaccepted().count == 1 && fixture.disk.status("/log/attachments/floor") != nil)
    try fixture.reopen()
    fixture.disk.trace = []
    #expect(try fixture.store.unaccepted().map(\.attachment.digest) == [files[1].digest.bytes])
    let read = fixture.disk.trace?.filter { $0.kind == .read && $0.path.contains("segments") }.reduce(0) { $0 + $1.byteCount } ?? 0
    fixture.disk.trace = []
    _ = try AttachmentStore(fixture.log).counts()
    let all = fixture.disk.trace?.filter { $0.kind == .read && $0.path.contains("segments") }.reduce(0) { $0 + $1.byteCount } ?? 0
    #expect(read < all)
    // One that is damaged, of another log or beyond the end costs time, no more.
    for text in ["", "{", #"{"log":"00000000000000000000000000000000","floor":600}"#] {
      try fixture.disk.replace("/log/attachments/floor", with: Array(text.utf8))
      #expect(try AttachmentStore(fixture.log).unaccepted().count == 1)
    }
  }

  enum Stop: CaseIterable { case kill, loses, keeps, seeded, oneError }

  @Test(arguments: Stop.allCases) func `whatever stops at whatever call, what an event names is there`(stop: Stop) throws {
    var call = 0
    var isDone = false
    while !isDone {
      let fixture = try StoreFixture()
      let first = fixture.disk.callCount
      fixture.disk.plan = FaultPlan(stop == .oneError ? .error(DiskError.inputOutput) : .cut(writing: call * 11), at: first + call)
      var appended = 0
      var accepted = 0
      do {
        for file in files {
          try fixture.append([file])
          appended += 1
        }
        for file in files[..<2] {
          try fixture.accept(file)
          accepted += 1
        }
        try fixture.store.removeAccepted()
        isDone = fixture.disk.faultCount == 0
      } catch {}
      fixture.disk.plan = FaultPlan()
      if stop != .oneError {
        try fixture.reopen {
          switch stop {
          case .kill, .oneError: fixture.disk.processKill()
          case .loses: fixture.disk.powerCycle(.losesEverything)
          case .keeps: fixture.disk.powerCycle(.keepsEverything)
          case .seeded: fixture.disk.powerCycle(.seeded(UInt64(call) + 1, garbage: .inFreshSectors))
          }
        }
      }
      var named = 0
      try fixture.store.forEach { attachment in
        named += 1
        // Never missing: here, or signed for.
        #expect(attachment.state != .missing, "call \(call)")
        if attachment.state == .pending {
          let path = try #require(try fixture.store.path(of: attachment.attachment))
          let bytes = try #require(try fixture.disk.contents(path))
          #expect(SHA256().hash(bytes).bytes == attachment.attachment.digest, "call \(call)")
        }
      }
      #expect(named >= appended, "call \(call)")
      let counts = try fixture.store.counts()
      #expect(counts.accepted >= UInt64(accepted), "call \(call)")
      // It goes on, and what was left unfinished goes away.
      try fixture.store.clean()
      for file in files {
        try fixture.append([file])
        try fixture.accept(file)
      }
      #expect(try fixture.store.unaccepted().isEmpty, "call \(call)")
      if stop != .oneError { #expect(try !fixture.names.contains { $0.hasSuffix(".tmp") }, "call \(call)") }
      fixture.disk.powerCycle(.losesEverything)
      try fixture.reopen()
      #expect(try fixture.store.unaccepted().isEmpty, "call \(call)")
      try fixture.store.removeAccepted()
      #expect(try fixture.store.verify() == report(checked: 0), "call \(call)")
      call += 1
    }
    #expect(call > 40)
  }
}

/// All orders of some things.
func permutations<Value>(_ values: [Value]) -> [[Value]] {
  if values.isEmpty { return [[]] }
  return values.indices.flatMap { index in
    var rest = values
    let first = rest.remove(at: index)
    return permutations(rest).map { [first] + $0 }
  }
}
