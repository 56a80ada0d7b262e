import TestSupport
import TidemarkLog

/// Every workload of a small alphabet, cut at every change of the disk, with every subset of what was not synced.
///
/// Only the changes of the last operation are followed up: those before are the last ones of a shorter workload. After each recovery one
/// more event is appended, everything unsynced is lost, and the log is opened once more; after a recovery from a kill also without that
/// event. Two of the recoveries at each moment (from a kill, and from a cut that loses everything) are themselves cut at every change with
/// every subset, for workloads shorter than the longest.
struct ExhaustiveLayer: Layer {
  static let name = "exhaustive"
  static let alphabet = EveryWorkload.smallAlphabet
  /// Where more items than that are unsynced, not every subset is tried, but: none, all, each alone, all but each, each beginning, each
  /// end.
  static let itemLimit = 10

  let length: Int
  private let workloads: EveryWorkload
  private let levels: [Durability] = [.synced, .written]

  init(length: Int) {
    self.length = length
    workloads = EveryWorkload(of: Self.alphabet, upTo: length)
  }

  /// The workload without operations, which makes the log, comes first.
  var count: Int? { (workloads.count + 1) * levels.count }

  var notes: String {
    let letters = Self.alphabet.map { "\($0)".replacing(" ", with: "") }.joined(separator: "+")
    let bounds = "recovery_cut_up_to_length=\(length - 1) every_subset_up_to=\(Self.itemLimit)"
    return "length=\(length) alphabet=\(letters) levels=synced+written \(bounds)"
  }

  func run(_ number: Int, into piece: inout Piece) throws {
    let index = number / levels.count
    let operations = index == 0 ? [] : workloads[index - 1]
    let driver = Driver(SimulatedDisk(), History(), Driver.options(levels[number % levels.count]), seed: UInt64(number))
    var moments: [Moment] = []
    for step in 0...operations.count {
      let isLast = step == operations.count
      if isLast { driver.disk.beforeChange = { [unowned driver] disk, _ in moments.append(Moment(disk.image, driver.history)) } }
      if step == 0 {
        try driver.open()
        try driver.checkAndSettle(after: .none)
      } else if let error = try driver.perform(operations[step - 1]) {
        throw Violation(.operation, "\(operations[step - 1]) failed though nothing was wrong: \(error)")
      }
    }
    driver.disk.beforeChange = nil
    if let violation = driver.history.check(try driver.readBack(), after: .none) { throw violation }
    moments.append(Moment(driver.disk.image, driver.history))
    piece.note("\(driver.options.durability): \(operations)")
    for (index, moment) in moments.enumerated() {
      piece.note("  cut before change \(index + 1) of \(moments.count) of the last operation")
      try followUp(moment, driver.options, cutsRecovery: operations.count < length, &piece)
    }
  }

  private struct Moment {
    var image: DiskImage
    var history: History

    init(_ image: DiskImage, _ history: History) {
      self.image = image
      self.history = history
    }
  }

  private func followUp(_ moment: Moment, _ options: LogOptions, cutsRecovery: Bool, _ piece: inout Piece) throws {
    piece.counts["moments", default: 0] += 1
    let items = moment.image.unsynced()
    var killed = moment.image
    killed.processKill()
    try recover(killed, moment.history, .kill, options, &piece, interrupting: cutsRecovery)
    try forEachSubset(of: items, moment.image, &piece) { mask, piece in
      var image = moment.image
      image.powerCut(keeping: mask, of: items)
      try recover(image, moment.history, .powerCut, options, &piece, interrupting: cutsRecovery && mask == 0)
    }
  }

  private func forEachSubset(
    of items: Unsynced, _ image: DiskImage, _ piece: inout Piece, _ body: (UInt64, inout Piece) throws -> Void
  ) throws {
    func tell(_ mask: UInt64, _ piece: inout Piece) throws {
      do { try body(mask, &piece) } catch {
        piece.note("  kept \(String(mask, radix: 2)) of \(items.count) items, \(items.nameCount) of them names, of this:")
        piece.trace? += image.description()
        throw error
      }
    }
    guard items.count > Self.itemLimit else {
      var failure: (any Error)?
      image.forEachPowerCut(of: items) { mask in
        do { try tell(mask, &piece) } catch { failure = error }
        return failure == nil
      }
      if let failure { throw failure }
      return
    }
    piece.counts["bounded_moments", default: 0] += 1
    for mask in Self.someSubsets(min(items.count, 63)) { try tell(mask, &piece) }
  }

  private static func someSubsets(_ count: Int) -> [UInt64] {
    let all = (UInt64(1) << UInt64(count)) - 1
    var masks: Set<UInt64> = [0, all]
    for index in 0..<count {
      let one = UInt64(1) << UInt64(index)
      masks.formUnion([one, all & ~one, one - 1, all & ~(one - 1)])
    }
    return masks.sorted()
  }

  private func recover(
    _ image: DiskImage, _ history: History, _ crash: Crash, _ options: LogOptions, _ piece: inout Piece, interrupting: Bool = false
  ) throws {
    piece.states += 1
    let disk = SimulatedDisk(image)
    let driver = Driver(disk, history, options, seed: UInt64(piece.states) << 32)
    var images: [DiskImage] = []
    if interrupting { disk.beforeChange = { disk, _ in images.append(disk.image) } }
    do { try driver.open() } catch { throw Violation(.operation, "the log does not open after a crash: \(error)") }
    disk.beforeChange = nil
    try driver.checkAndSettle(after: crash)
    // What a killed process leaves may be in memory alone, but what was served from it must stay.
    if crash == .kill { try losePower(disk.image, driver.history, options, &piece) }
    for (index, image) in images.enumerated() {
      let items = image.unsynced()
      try forEachSubset(of: items, image, &piece) { mask, piece in
        piece.note("  recovery from \(crash) is cut before change \(index + 1) of \(images.count)")
        var image = image
        image.powerCut(keeping: mask, of: items)
        try recover(image, history, .powerCut, options, &piece)
      }
    }
    if let error = try driver.perform(.appendSynced(byteCount: 20)) { throw Violation(.operation, "no append after recovery: \(error)") }
    try losePower(disk.image, driver.history, options, &piece)
  }

  /// The second crash: everything unsynced is lost.
  private func losePower(_ image: DiskImage, _ history: History, _ options: LogOptions, _ piece: inout Piece) throws {
    var image = image
    image.powerCut(.losesEverything)
    let driver = Driver(SimulatedDisk(image), history, options, seed: UInt64(piece.states) << 32 | 1)
    do { try driver.open() } catch { throw Violation(.operation, "the log does not open after the second crash: \(error)") }
    try driver.checkAndSettle(after: .powerCut)
  }
}
