import TestSupport
@testable import TidemarkLog

/// A log without events on a simulated disk, made once.
enum EmptyLog {
  private static let image: DiskImage = {
    let disk = SimulatedDisk()
    do { try Log.create(at: "/log", options: options, environment: .simulated(disk, seed: 1)) } catch { violated("no log: \(error)") }
    return disk.image
  }()

  private static let options: LogOptions = {
    var options = LogOptions()
    options.durability = .written
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    options.zerosAheadByteCount = 0
    return options
  }()

  /// Opens a copy of it for writing.
  static func open() throws -> Log { try Log.open(at: "/log", options: options, environment: .simulated(SimulatedDisk(image), seed: 2)) }
}
