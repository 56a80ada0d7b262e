import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer

@Suite struct UploadTests {
  typealias Fixture = UploadFixture

  @Test func `a file comes in parts of any size`() throws {
    let file = TestFile(1_000)
    for part in [1, 7, 100, 500, 999, 1_000, 4_000] {
      let fixture = try Fixture()
      #expect(try fixture.begin(file).offset == 0)
      #expect(try fixture.send(file, part: part))
      #expect(try fixture.contents(file) == file.bytes)
      #expect(try fixture.names() == [file.digest.hexadecimal])
      #expect(try fixture.begin(file).isComplete)
    }
  }

  @Test func `an empty file is one`() throws {
    let fixture = try Fixture()
    let file = TestFile(0)
    #expect(try fixture.send(file, part: 1))
    #expect(try fixture.contents(file) == [])
  }

  @Test func `a transfer can be cut at every offset`() throws {
    let file = TestFile(60)
    for cut in 0...60 {
      let fixture = try Fixture()
      let upload = try #require(try fixture.begin(file).upload)
      let first = try fixture.uploads.append(Array(file.bytes[..<cut]), at: 0, to: upload, Fixture.tenant)
      #expect(first.offset == (cut == 60 ? nil : UInt64(cut)))
      // The answer was lost: the same part again tells where it stands.
      if cut > 0 && cut < 60 {
        let problem = refusal { _ = try fixture.uploads.append(Array(file.bytes[..<cut]), at: 0, to: upload, Fixture.tenant) }
        #expect(problem?.code == .mismatchingOffset && problem?.offsets?.expected == UInt64(cut))
      }
      fixture.disk.powerCycle(.losesEverything)
      try fixture.reopen()
      #expect(try fixture.begin(file).offset == (cut == 60 ? nil : UInt64(cut)))
      #expect(try fixture.send(file, part: 60))
      #expect(try fixture.contents(file) == file.bytes)
    }
  }

  @Test func `every offset but the upload's is refused with the right one`() throws {
    let file = TestFile(40)
    let fixture = try Fixture()
    let upload = try #require(try fixture.begin(file).upload)
    _ = try fixture.uploads.append(Array(file.bytes[..<17]), at: 0, to: upload, Fixture.tenant)
    for offset: UInt64 in 0...50 where offset != 17 {
      let problem = refusal { _ = try fixture.uploads.append([1], at: offset, to: upload, Fixture.tenant) }
      #expect(problem?.code == .mismatchingOffset)
      #expect(problem?.offsets?.expected == 17 && problem?.offsets?.provided == offset)
    }
    #expect(
      refusal { _ = try fixture.uploads.append([UInt8](repeating: 0, count: 24), at: 17, to: upload, Fixture.tenant) }?.code
        == .inconsistentLength)
    #expect(refusal { _ = try fixture.uploads.append([1], at: 17, isLast: true, to: upload, Fixture.tenant) }?.code == .inconsistentLength)
    #expect(try fixture.begin(file).offset == 17)
    #expect(try fixture.send(file, part: 5))
  }

  @Test(arguments: [1, 13, 40]) func `a flipped bit anywhere is found at the end, and nothing is kept`(part: Int) throws {
    let file = TestFile(40)
    for index in 0..<40 {
      let fixture = try Fixture()
      var bytes = file.bytes
      bytes[index] ^= UInt8(1) << UInt8(index % 8)
      var answer = try fixture.begin(file)
      let upload = try #require(answer.upload)
      var found: Problem?
      while let offset = answer.offset, found == nil {
        found = refusal {
          answer = try fixture.uploads.append(
            Array(bytes[Int(offset)..<min(40, Int(offset) + part)]), at: offset, to: upload, Fixture.tenant)
        }
      }
      #expect(found?.code == .digestMismatch)
      #expect(try fixture.names() == [])
      #expect(refusal { _ = try fixture.uploads.standing(of: upload, Fixture.tenant) }?.code == .notFound)
      let again = try fixture.begin(file)
      #expect(again.offset == 0 && again.upload != upload)
      #expect(try fixture.send(file, part: part))
    }
  }

  @Test func `a file of another length than was offered never counts`() throws {
    let file = TestFile(40)
    for length: UInt64 in [0, 1, 39, 41, 1_000] {
      let fixture = try Fixture()
      let offer = AttachmentOffer(digest: file.digest, byteCount: length)
      let upload = try #require(try fixture.uploads.begin(offer, Fixture.tenant, device: Fixture.device).upload)
      let bytes = Array((file.bytes + [UInt8](repeating: 0, count: 1_000)).prefix(Int(length)))
      #expect(refusal { _ = try fixture.uploads.append(bytes, at: 0, to: upload, Fixture.tenant) }?.code == .digestMismatch)
      #expect(try fixture.names() == [])
      #expect(try fixture.send(file, part: 40))
      // What is here has a length: another one is refused.
      #expect(refusal { _ = try fixture.uploads.begin(offer, Fixture.tenant, device: Fixture.device) }?.code == .refused)
    }
  }

  @Test func `tenants do not know of each other's files`() throws {
    let fixture = try Fixture()
    let file = TestFile(40)
    let upload = try #require(try fixture.begin(file).upload)
    _ = try fixture.uploads.append(Array(file.bytes[..<20]), at: 0, to: upload, Fixture.tenant)
    for other in ["other", "Acme", "ACME", "=41cme", ".acme", "..", "acme."] {
      #expect(try fixture.uploads.answer(file.digest, other) == nil)
      #expect(refusal { _ = try fixture.uploads.standing(of: upload, other) }?.code == .notFound)
      #expect(refusal { _ = try fixture.uploads.append([1], at: 20, to: upload, other) }?.code == .notFound)
      #expect(try fixture.begin(file, other).offset == 0)
    }
    #expect(try fixture.send(file, part: 20))
    for other in ["other", "Acme", "ACME", "=41cme", ".acme", "..", "acme."] { #expect(try fixture.begin(file, other).offset == 0) }
    #expect(try fixture.send(file, part: 20, ".."))
    #expect(try fixture.contents(file, "=2e.") == file.bytes)
    try fixture.reopen()
    #expect(try fixture.uploads.byteCount(of: file.digest, "..") == 40 && fixture.uploads.byteCount(of: file.digest, "ACME") == nil)
    #expect(try fixture.begin(file, "Acme").offset == 0)
  }

  @Test func `limits hold, and what was given up expires`() throws {
    let fixture = try Fixture()
    fixture.limits.byteCount = 100
    fixture.limits.openPerDevice = 3
    fixture.limits.lifetime = 1_000
    try fixture.reopen()
    #expect(refusal { _ = try fixture.begin(TestFile(101)) }?.code == .tooLarge)
    let files = (0..<5).map { TestFile(100, seed: UInt64($0) + 1) }
    for file in files[..<3] { #expect(try fixture.begin(file).offset == 0) }
    #expect(refusal { _ = try fixture.begin(files[3]) }?.code == .tooMany)
    // Begun ones go on, and another device has its own.
    #expect(try fixture.begin(files[0]).offset == 0)
    #expect(try fixture.begin(files[4], device: EventID(high: 2, low: 2)).offset == 0)
    #expect(try fixture.send(files[0], part: 50))
    let fourth = try #require(try fixture.begin(files[3]).upload)
    _ = try fixture.uploads.append(Array(files[3].bytes[..<10]), at: 0, to: fourth, Fixture.tenant)
    fixture.clock.setWallClock(byNanoseconds: 2_000_000_000_000)
    #expect(refusal { _ = try fixture.uploads.append([1], at: 10, to: fourth, Fixture.tenant) }?.code == .notFound)
    #expect(try fixture.uploads.open(of: nil).isEmpty)
    #expect(try fixture.names() == [files[0].digest.hexadecimal])
    #expect(try fixture.begin(files[3]).offset == 0)
  }

  @Test func `two devices send one file at the same time`() throws {
    let file = TestFile(200)
    for seed: UInt64 in 1...40 {
      let fixture = try Fixture()
      var random = SeededRandom(seed: seed)
      let devices = [Fixture.device, EventID(high: 2, low: 2)]
      var offsets: [UInt64] = [0, 0]
      var isDone = false
      let upload = try #require(try fixture.begin(file, device: devices[0]).upload)
      #expect(try fixture.begin(file, device: devices[1]).upload == upload)
      var steps = 0
      while !isDone && steps < 1_000 {
        steps += 1
        let device = random.number(below: 2)
        let offset = offsets[device]
        let end = min(200, Int(offset) + random.number(in: 1...30))
        let problem = refusal {
          let answer = try fixture.uploads.append(Array(file.bytes[Int(offset)..<end]), at: offset, to: upload, Fixture.tenant)
          offsets[device] = answer.offset ?? 200
          isDone = answer.isComplete
        }
        if let problem {
          #expect(problem.code == .mismatchingOffset)
          offsets[device] = problem.offsets?.expected ?? 0
        }
      }
      #expect(try isDone && fixture.contents(file) == file.bytes)
      for device in devices { #expect(try fixture.begin(file, device: device).isComplete) }
    }
  }

  @Test func `parts of many threads at once do not mix`() async throws {
    let fixture = try Fixture()
    let files = (0..<3).map { TestFile(3_000, seed: UInt64($0) + 1) }
    let uploads = fixture.uploads
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<9 {
        let file = files[index % 3]
        group.addTask {
          var answer = try uploads.begin(file.offer, "acme", device: EventID(high: UInt64(index), low: 1)).answer
          while case .open(let upload, let offset) = answer.state {
            let end = min(file.bytes.count, Int(offset) + 100 + index)
            do {
              answer = try uploads.append(Array(file.bytes[Int(offset)..<end]), at: offset, to: upload, "acme")
            } catch {
              answer = try uploads.begin(file.offer, "acme", device: EventID(high: UInt64(index), low: 1)).answer
            }
          }
        }
      }
      try await group.waitForAll()
    }
    for file in files { #expect(try fixture.contents(file) == file.bytes) }
    #expect(try fixture.names().count == 3)
  }
}

/// The problem that a body ends with; nil if it ends well, or with another error.
func refusal(_ body: () throws -> Void) -> Problem? {
  do {
    try body()
    return nil
  } catch {
    return error as? Problem
  }
}
