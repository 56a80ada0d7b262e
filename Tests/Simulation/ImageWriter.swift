import Foundation
import TestSupport
import TidemarkLog

/// Writes as plain files what seeded workloads leave behind: cut off or killed at some call, damaged, and recovered. For readers that are
/// not the engine.
///
/// Image N consists of the directories `N-crashed` and `N-recovered` below a folder.
struct ImageWriter {
  let folder: String
  let seed: UInt64

  /// Writes `count` images.
  func write(_ count: Int) throws {
    for number in 0..<count { try write(image: number) }
  }

  private func write(image number: Int) throws {
    var random = SeededRandom(seed: splitMix(seed &+ UInt64(number) &* splitMixStep))
    var options = Driver.options(
      [.synced, .written, .buffered][number % 3], segmentByteCount: [8192, 8192, 12288][random.number(below: 3)])
    options.zerosAheadByteCount = [512, 4096][random.number(below: 2)]
    var image = try work(options, &random)
    if random.isOneIn(3) { try damage(&image, &random) }
    try store(image, "\(number)-crashed")
    options.onCorruption = .quarantine
    try store(recover(image, options, &random), "\(number)-recovered")
  }

  /// The disk after a workload that was cut off or killed at some call.
  private func work(_ options: LogOptions, _ random: inout SeededRandom) throws -> DiskImage {
    let driver = Driver(SimulatedDisk(), History(), options, seed: random.next())
    let states = LastStates(random.number(in: 1...60))
    if !random.isOneIn(10) { try driver.open() }
    driver.disk.beforeChange = { disk, _ in states.add(disk.image) }
    // Now and then an append fails, and the log goes on in a new segment.
    if random.isOneIn(4) {
      let fault = random.isOneIn(2) ? Fault.error(DiskError.inputOutput) : .failedSync(.keepsPages, reaching: .max)
      driver.disk.plan = FaultPlan(fault, at: random.number(in: 100...400))
    }
    // What the fault breaks is the matter of other layers.
    for _ in 0..<random.number(in: 1...24) { _ = try? driver.perform(OperationMix.everything.operation(using: &random)) }
    driver.disk.beforeChange = nil
    var image = random.isOneIn(3) ? driver.disk.image : states.oldest ?? driver.disk.image
    if random.isOneIn(3) { image.processKill() } else { image.powerCut(.seeded(random.next(), garbage: .inFreshSectors)) }
    return image
  }

  /// The last states of a disk.
  private final class LastStates {
    private let count: Int
    private var kept: [DiskImage] = []

    init(_ count: Int) { self.count = count }

    func add(_ image: DiskImage) {
      if kept.count == count { kept.removeFirst() }
      kept.append(image)
    }

    var oldest: DiskImage? { kept.first }
  }

  private func damage(_ image: inout DiskImage, _ random: inout SeededRandom) throws {
    let files = image.files(under: "\(Driver.path)/segments")
    guard !files.isEmpty else { return }
    let file = files[random.number(below: files.count)]
    var bytes = image.contents(of: file) ?? []
    guard let end = bytes.lastIndex(where: { $0 != 0 }) else { return }
    switch random.number(below: 8) {
    case 0: try image.delete(file)
    case 1: try image.setContents(of: file, to: Array(bytes[..<random.number(below: end + 1)]))
    case 2...3:
      let start = random.number(below: end + 1) & ~511
      for position in start..<min(start + 512, bytes.count) { bytes[position] = 0 }
      try image.setContents(of: file, to: bytes)
    default: try image.flipBit(random.number(below: 8 * (end + 1)), of: file)
    }
  }

  /// The disk after the log was opened again, in whatever state it is left. As it was if it can't be opened.
  private func recover(_ image: DiskImage, _ options: LogOptions, _ random: inout SeededRandom) throws -> DiskImage {
    let disk = SimulatedDisk(image)
    let log: Log
    do { log = try Log.open(at: Driver.path, options: options, environment: .simulated(disk, seed: random.next())) } catch is LogError {
      return image
    }
    for number in 0..<random.number(below: 4) {
      try log.append(TestEvent(number: 1_000_000 + UInt64(number), dataByteCount: 40).newEvent())
    }
    if random.isOneIn(3) { try log.seal() }
    if random.isOneIn(6) { try log.trim(below: log.size) }
    if random.isOneIn(2) { try log.close() }
    var image = disk.image
    image.processKill()
    return image
  }

  private func store(_ image: DiskImage, _ name: String) throws {
    let manager = FileManager.default
    let place = "\(folder)/\(name)"
    try manager.createDirectory(atPath: place, withIntermediateDirectories: true)
    for file in image.files(under: Driver.path) {
      let target = place + file.dropFirst(Driver.path.count)
      try manager.createDirectory(atPath: (target as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try Data(image.contents(of: file) ?? []).write(to: URL(fileURLWithPath: target))
    }
  }
}
