import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer

/// A file for tests, with its digest.
struct TestFile {
  let bytes: [UInt8]
  let digest: Digest256

  init(_ byteCount: Int, seed: UInt64 = 1) {
    var random = SeededRandom(seed: seed)
    bytes = (0..<byteCount).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    digest = SHA256().hash(bytes)
  }

  var offer: AttachmentOffer { AttachmentOffer(digest: digest, byteCount: UInt64(bytes.count)) }
}

/// Uploads on a simulated disk, without a server around them.
final class UploadFixture {
  let disk: SimulatedDisk
  let clock = SteppingClock()
  var limits = UploadLimits()
  private(set) var uploads: Uploads
  private var seed: UInt64 = 1

  static let device = EventID(high: 1, low: 1)
  static let tenant = "acme"
  static let signature = [UInt8](repeating: 7, count: 64)

  init(_ disk: SimulatedDisk = SimulatedDisk()) throws {
    self.disk = disk
    uploads = try Self.open(disk, clock, limits, 1)
  }

  private static func open(_ disk: SimulatedDisk, _ clock: SteppingClock, _ limits: UploadLimits, _ seed: UInt64) throws -> Uploads {
    try Uploads(at: "/attachments", .simulated(disk, seed: seed, clock: clock), limits: limits) { _ in signature }
  }

  func reopen() throws {
    seed += 1
    uploads = try Self.open(disk, clock, limits, seed)
  }

  func begin(_ file: TestFile, _ tenant: String = tenant, device: EventID = device) throws -> AttachmentAnswer {
    try uploads.begin(file.offer, tenant, device: device).answer
  }

  /// Sends what is missing, in parts, and returns whether the file is there then.
  @discardableResult
  func send(_ file: TestFile, part: Int, _ tenant: String = tenant) throws -> Bool {
    var answer = try begin(file, tenant)
    while case .open(let upload, let offset) = answer.state {
      let end = min(file.bytes.count, Int(offset) + part)
      answer = try uploads.append(Array(file.bytes[Int(offset)..<end]), at: offset, to: upload, tenant)
    }
    return answer.isComplete
  }

  /// What lies in the tenant's folder.
  func names(_ folder: String = tenant) throws -> [String] { try disk.list("/attachments/\(folder)").sorted() }

  func contents(_ file: TestFile, _ folder: String = tenant) throws -> [UInt8]? {
    try disk.contents("/attachments/\(folder)/\(file.digest.hexadecimal)")
  }
}

extension AttachmentAnswer {
  /// Nil once it is complete.
  var offset: UInt64? { if case .open(_, let offset) = state { offset } else { nil } }
  var upload: EventID? { if case .open(let upload, _) = state { upload } else { nil } }
}
