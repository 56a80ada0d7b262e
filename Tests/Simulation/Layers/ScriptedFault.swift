import TestSupport
import TidemarkLog

/// A fault, or the same fault for a while, and what it may cost.
struct ScriptedFault {
  enum Cost {
    /// The call says that it failed: nothing that was acknowledged may be lost.
    case nothing
    /// The call says that it failed, but pages that were acknowledged as written are gone.
    case unsyncedPages
    /// The call claims that it succeeded, or gives other bytes than the disk has.
    case anything
  }

  var name: String
  var plan: FaultPlan
  var cost: Cost
  /// Errors with another number must not come out.
  var errno: Int32?
  /// Bytes free on the disk.
  var freeByteCount: Int?

  private init(_ fault: Fault, at call: Int, _ cost: Cost = .nothing, errno: Int32? = nil) {
    name = "\(fault) at call \(call)"
    plan = FaultPlan(fault, at: call)
    self.cost = cost
    self.errno = errno
  }

  private init(errno: Int32, at call: Int, count: Int, only kinds: Calls) {
    name = "errno \(errno) at calls \(call)...\(call + count - 1)"
    plan = FaultPlan(.error(errno), during: call...call + count - 1, only: kinds)
    cost = .nothing
    self.errno = errno
  }

  /// A disk that fills up and has space again.
  static func fullDisk(using random: inout SeededRandom) -> ScriptedFault {
    let free = random.isOneIn(3) ? 0 : random.number(in: 0...9000)
    var fault = ScriptedFault(.error(DiskError.noSpace), at: 0, errno: DiskError.noSpace)
    fault.plan = FaultPlan()
    fault.freeByteCount = free
    fault.name = "\(free) bytes free"
    return fault
  }

  private static let noAccess: Calls = [.open, .create, .rename, .remove, .lock, .list, .makeDirectory, .write, .makeReadOnly]

  /// Everything that can go wrong with one call.
  static func all(at call: Int, of kind: Calls, using random: inout SeededRandom) -> [ScriptedFault] {
    let eio = DiskError.inputOutput
    var faults = [
      ScriptedFault(.error(eio), at: call, errno: eio),
      ScriptedFault(errno: DiskError.accessDenied, at: call, count: random.number(in: 1...12), only: noAccess),
    ]
    switch kind {
    case .write:
      faults += [
        ScriptedFault(errno: DiskError.noSpace, at: call, count: random.number(in: 1...8), only: [.write, .create, .makeDirectory]),
        ScriptedFault(.shortWrite(byteCount: random.number(in: 0...600), errno: DiskError.noSpace), at: call, errno: DiskError.noSpace),
        ScriptedFault(.shortWrite(byteCount: random.number(in: 0...5000), errno: eio), at: call, errno: eio),
        ScriptedFault(.lostWrite, at: call, .anything),
        ScriptedFault(.lostWriteBack, at: call, .anything),
        ScriptedFault(.misdirectedWrite(by: distances[random.number(below: distances.count)]), at: call, .anything),
        ScriptedFault(.garbageWrite(sector: random.number(in: 0...15)), at: call, .anything),
      ]
    case .sync:
      let reached = [0, .max, random.next()]
      faults += [
        ScriptedFault(.failedSync(.keepsPages, reaching: reached[random.number(below: 3)]), at: call, errno: eio),
        ScriptedFault(.failedSync(.marksPagesClean, reaching: 0), at: call, errno: eio),
        ScriptedFault(.failedSync(.marksPagesClean, reaching: reached[random.number(in: 1...2)]), at: call, errno: eio),
        ScriptedFault(.failedSync(.dropsPages, reaching: reached[random.number(below: 3)]), at: call, .unsyncedPages, errno: eio),
        ScriptedFault(errno: eio, at: call, count: random.number(in: 2...6), only: [.sync, .write]),
        ScriptedFault(.lyingSync, at: call, .anything),
      ]
    case .syncDirectory: faults.append(ScriptedFault(.lyingSync, at: call, .anything))
    case .read: faults.append(ScriptedFault(.flippedRead(bit: random.number(in: 0...200_000)), at: call, .anything))
    case .open: faults.append(ScriptedFault(.error(DiskError.tooManyFiles), at: call, errno: DiskError.tooManyFiles))
    case .create: faults.append(ScriptedFault(.error(DiskError.noSpace), at: call, errno: DiskError.noSpace))
    default: break
    }
    return faults
  }

  private static let distances = [512, -512, 1024, -1024, 4096, -4096, 8192, 56, -8]
}
