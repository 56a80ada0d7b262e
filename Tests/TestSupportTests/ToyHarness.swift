import TestSupport
import TidemarkLog

/// Runs the toy log through cuts: once over each workload, with the disk of every call kept.
struct ToyHarness {
  var bug: ToyLog.Bug?
  private(set) var states = 0
  private(set) var violations: [Violation] = []

  init(_ bug: ToyLog.Bug? = nil) { self.bug = bug }

  private struct Moment {
    var image: DiskImage
    var model: ModelLog
  }

  /// Runs batches of the given data lengths; returns disk and model as they are before each call, and at the end.
  private mutating func moments(_ workload: [[Int]], on disk: SimulatedDisk, _ model: inout ModelLog) -> [Moment] {
    var current = model
    var moments: [Moment] = []
    disk.beforeChange = { disk, _ in moments.append(Moment(image: disk.image, model: current)) }
    do {
      let log = try ToyLog(disk, bug)
      for byteCounts in workload {
        let batch = current.submit(byteCounts)
        do {
          var problem: Violation?
          _ = try log.append(current.events(of: batch)) { offset in
            guard problem == nil, !current.isAcknowledged(batch) else { return }
            do { try current.acknowledge(batch, at: offset, .synced) } catch { problem = error as? Violation }
          }
          if let problem { throw problem }
        } catch let violation as Violation { throw violation } catch {
          if !current.isAcknowledged(batch) { current.leaveUnknown(batch) }
        }
      }
      violations += current.check(log.readBack, after: .none)
    } catch let violation as Violation { violations.append(violation) } catch {}
    disk.beforeChange = nil
    moments.append(Moment(image: disk.image, model: current))
    model = current
    return moments
  }

  /// Opens the log on what a cut left, and compares.
  private mutating func check(_ image: DiskImage, _ model: ModelLog, after crash: Crash) -> (disk: SimulatedDisk, model: ModelLog) {
    states += 1
    let disk = SimulatedDisk(image)
    var model = model
    do {
      let log = try ToyLog(disk, bug)
      violations += model.check(log.readBack, after: crash)
      model.settle(log.readBack)
    } catch { violations.append(Violation(.i1, "the log does not open: \(error)")) }
    return (disk, model)
  }

  /// Random cuts at every call, recovery, more appends, more cuts.
  mutating func random(seed: UInt64, workload: Int = 4, cuts: Int = 2, rounds: Int = 2) {
    var random = SeededRandom(seed: seed)
    let disk = SimulatedDisk()
    var model = ModelLog()
    self.rounds(rounds, workload, cuts, on: disk, &model, &random)
  }

  private mutating func rounds(
    _ rounds: Int, _ count: Int, _ cuts: Int, on disk: SimulatedDisk, _ model: inout ModelLog, _ random: inout SeededRandom
  ) {
    let mix = OperationMix.appendsAndRolls
    let workload = (0..<count).compactMap { _ -> [Int]? in
      switch mix.operation(using: &random) {
      case .append(let byteCount): [byteCount]
      case .batch(let count, let byteCount): [Int](repeating: byteCount, count: count)
      default: nil
      }
    }
    for moment in moments(workload, on: disk, &model) {
      for _ in 0..<cuts {
        var image = moment.image
        let isKill = random.isOneIn(4)
        if isKill { image.processKill() } else { image.powerCut(.seeded(random.next(), garbage: .inFreshSectors)) }
        var after = check(image, moment.model, after: isKill ? .kill : .powerCut)
        if rounds > 1, random.isOneIn(8) { self.rounds(rounds - 1, 2, 1, on: after.disk, &after.model, &random) }
      }
    }
  }

  /// Every subset of sectors and names at every call of one workload, run on a new log and then on what a kill left of it.
  mutating func exhaustive(_ workload: [[Int]]) {
    var model = ModelLog()
    let disk = SimulatedDisk()
    var all = moments(workload, on: disk, &model)
    disk.processKill()
    all += moments(workload, on: disk, &model)
    for moment in all {
      let items = moment.image.unsynced()
      moment.image.forEachPowerCut(of: items) { mask in
        var image = moment.image
        image.powerCut(keeping: mask, of: items)
        _ = check(image, moment.model, after: .powerCut)
        return true
      }
    }
  }

  /// One fault at every call of one workload, then a cut that loses everything unsynced.
  mutating func fault(_ fault: Fault, _ workload: [[Int]]) {
    var call = 0
    var hasMore = true
    while hasMore {
      let disk = SimulatedDisk()
      var model = ModelLog()
      disk.plan = FaultPlan(fault, at: call)
      let moments = moments(workload, on: disk, &model)
      hasMore = call < disk.callCount
      call += 1
      guard disk.faultCount > 0, var image = moments.last?.image else { continue }
      image.powerCut(.losesEverything)
      _ = check(image, model, after: .powerCut)
    }
  }
}
