import Synchronization
import TidemarkLog

/// A disk in memory that fails as real ones do.
///
/// It keeps apart what the page cache holds and what the platter holds: file data by sectors of 512 bytes, each of which is old or new
/// after a power cut; a file's size; and names, which are lost until their directory is synced (a rename is old or new, never neither).
/// Every call is counted from 0, so that a ``FaultPlan`` can name the one that fails, and a run is reproduced from its seed.
///
/// ```swift
/// let disk = SimulatedDisk()
/// disk.plan = FaultPlan(.cut(), at: 17)
/// run(on: disk)                                   // everything throws from the 18th call on
/// disk.powerCycle(.seeded(42))
/// recover(on: disk)
/// ```
///
/// A run needs no repeating for each cut: ``beforeChange`` is called ahead of each call that changes the disk, and ``image`` is then what
/// a cut at this call leaves. What it does not model: an older version of a sector that was written twice since the last sync, except
/// through ``startWriteBack(seed:oneIn:)``; blocks and inodes that run out apart from bytes; access times.
///
/// Unchecked, because every call, from whatever thread, runs between `enter()` and `leave()`; a harness changes settings, and takes images,
/// while no call runs or from ``beforeChange``.
package final class SimulatedDisk: @unchecked Sendable {
  private let isBusy = Atomic<Bool>(false)
  var state: DiskImage
  var pages: [UInt64: SharedPage] = [:]
  var locks: [(slot: Int, token: UInt64, holder: String)] = []
  var nextToken: UInt64 = 1
  /// Handles of an older generation belong to a process that died.
  var generation = 0
  var writeBack: (random: SeededRandom, oneIn: Int)?

  /// The machine is off: every call throws until ``powerCycle(_:)``.
  package private(set) var isCut = false
  /// Calls made since the disk was made, or since the last power cycle or kill.
  package private(set) var callCount = 0
  /// How many planned faults took effect.
  package private(set) var faultCount = 0
  /// Which calls fail. Emptied by ``powerCycle(_:)`` and ``processKill()``.
  package var plan = FaultPlan()
  /// Bytes that files may take in all; nil: no limit. A write that does not fit is cut short and then throws `diskFull`.
  package var capacity: Int?
  /// Answers everything that needs write access with this error number, as on a file system mounted read-only (`EROFS`); nil: nothing is
  /// refused.
  package var writeRefusal: Int32?
  /// Called before each call of ``Calls/changing``, with the disk as a cut at this call would find it.
  package var beforeChange: ((SimulatedDisk, Calls) -> Void)?
  /// Each call, in order, if set to an array.
  package var trace: [Call]?

  /// A disk with the root directory alone.
  package init() { state = DiskImage() }

  /// A disk as it is after a power cut or a kill: no process has it open. Shared pages are not part of an image.
  package init(_ image: DiskImage) {
    state = image
    if image.nodes.contains(where: { $0.handleCount > 0 }) { state.processKill() }
  }

  /// What is on the disk and in the page cache, as a value.
  package var image: DiskImage {
    get { state }
    set { state = newValue }
  }

  // MARK: Crashes

  /// Cuts the power if it is on, and starts the machine again. Calls are counted from 0 again, and the plan is empty.
  package func powerCycle(_ cut: PowerCut = .losesEverything) {
    enter()
    defer { leave() }
    state.powerCut(cut)
    pages.removeAll()
    forgetProcess()
  }

  /// The same, with a chosen subset of the items of ``DiskImage/unsynced()``.
  package func powerCycle(keeping mask: UInt64, of items: Unsynced) {
    enter()
    defer { leave() }
    state.powerCut(keeping: mask, of: items)
    pages.removeAll()
    forgetProcess()
  }

  /// Kills the process: handles and locks are gone, the page cache and shared pages stay. Calls are counted from 0 again, and the plan is
  /// empty.
  package func processKill() {
    enter()
    defer { leave() }
    state.processKill()
    forgetProcess()
  }

  /// From now on a write is followed, once in `count` times, by the kernel writing some unsynced sectors by itself.
  package func startWriteBack(seed: UInt64, oneIn count: Int) { writeBack = (SeededRandom(seed: seed), count) }

  private func forgetProcess() {
    generation += 1
    locks.removeAll()
    isCut = false
    callCount = 0
    faultCount = 0
    plan = FaultPlan()
  }

  // MARK: One call

  func enter() {
    while !isBusy.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged {}
  }

  func leave() { isBusy.store(false, ordering: .releasing) }

  /// Counts a call, and throws or returns what is planned for it.
  func begin(_ kind: Calls, _ path: String, position: UInt64 = 0, byteCount: Int = 0) throws(LogError) -> Fault? {
    if isCut { throw DiskError.powerCut(path) }
    let call = callCount
    callCount += 1
    if trace != nil { trace?.append(Call(kind: kind, path: path, position: position, byteCount: byteCount)) }
    if let writeRefusal, Calls.writing.contains(kind) { throw DiskError.make(writeRefusal, "cannot write", path) }
    guard call >= plan.first, call <= plan.last, let fault = plan.fault(at: call, kind) else { return nil }
    faultCount += 1
    switch fault {
    case .error(let errno): throw DiskError.make(errno, "cannot finish a call", path, position: position)
    case .cut:
      isCut = true
      if kind != .write { throw DiskError.powerCut(path) }
      return fault
    default: return fault
    }
  }

  func willChange(_ kind: Calls) {
    if let beforeChange, !isCut { beforeChange(self, kind) }
  }
}
