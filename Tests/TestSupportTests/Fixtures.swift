import TestSupport
import TidemarkLog

/// A disk with a durable directory `/d`.
func makeDisk() throws -> SimulatedDisk {
  let disk = SimulatedDisk()
  try disk.makeDirectory("/d")
  try disk.syncDirectory("/")
  return disk
}

extension SimulatedDisk {
  /// Creates a file with data; durable, name and all, if asked for.
  @discardableResult func put(_ path: String, _ bytes: [UInt8], synced: Bool = false) throws -> any File {
    let file = try open(path, .create)
    try file.write(bytes.rawSpan, at: 0)
    if synced {
      try file.sync()
      try syncDirectory(DiskFixture.parent(of: path))
    }
    return file
  }

  /// What a process reads through the calls; nil if there is no file.
  func text(_ path: String) throws -> [UInt8]? {
    guard let status = try status(path) else { return nil }
    var bytes = [UInt8](repeating: 0xEE, count: Int(status.byteCount))
    let file = try open(path, .read)
    defer { file.close() }
    let got = try file.read(bytes.count, at: 0, into: &bytes, at: 0)
    return Array(bytes[..<got])
  }

  /// The state after a cut, this disk left alone.
  func after(_ cut: PowerCut) -> SimulatedDisk {
    var image = image
    image.powerCut(cut)
    return SimulatedDisk(image)
  }
}

enum DiskFixture {
  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  static func bytes(_ value: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: value, count: count) }
}

/// The code of the error that `body` throws; nil if it throws none.
func code(_ body: () throws -> Void) -> LogError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? LogError)?.code
  }
}
