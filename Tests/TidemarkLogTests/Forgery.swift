import TestSupport
import TidemarkLog

/// A file of a log at rest that is changed, and whose checksums are made right again: what no crash leaves, only a program at fault or
/// somebody who means harm.
struct Forgery {
  let path: String
  var bytes: [UInt8]

  init(_ image: DiskImage, _ path: String) throws {
    self.path = path
    bytes = image.contents(of: path) ?? []
  }

  func put(into image: inout DiskImage) throws { try image.setContents(of: path, to: bytes) }

  private var seed: UInt64 { xxh3(bytes.rawSpan.slice(32, 48)) }

  /// The places of frames.
  var frames: [Int] {
    stride(from: 4096, through: bytes.count - 56, by: 8).filter { Array(bytes[($0 + 8)..<($0 + 12)]) == Array("TMFR".utf8) }
  }

  /// Changes a frame, its header at `frame` and its records 56 bytes behind.
  mutating func changeFrame(_ frame: Int, _ change: (inout [UInt8]) -> Void) {
    change(&bytes)
    let length = (56 + Int(bytes.rawSpan.u32(frame + 16)) + 7) & ~7
    let hash = xxh3(bytes.rawSpan.slice(frame + 8, length - 8), seed: seed)
    bytes.store(hash, at: frame)
  }

  /// Changes the page that begins at `start`: a header, or a footer.
  mutating func changePage(at start: Int, byteCount: Int, _ change: (inout [UInt8]) -> Void) {
    change(&bytes)
    let hash = xxh3(bytes.rawSpan.slice(start, byteCount - 8))
    bytes.store(hash, at: start + byteCount - 8)
  }

  mutating func changeFooter(_ change: (inout [UInt8], Int) -> Void) {
    let start = bytes.count - 512
    changePage(at: start, byteCount: 512) { change(&$0, start) }
  }
}

extension Fixture {
  /// A log on a copy of the disk as it is at rest, after files of it were forged.
  func forged(seed: UInt64 = 77, _ change: (inout DiskImage) throws -> Void) throws -> (disk: SimulatedDisk, environment: Environment) {
    var image = disk.image
    image.processKill()
    try change(&image)
    let disk = SimulatedDisk(image)
    return (disk, .simulated(disk, seed: seed))
  }
}
