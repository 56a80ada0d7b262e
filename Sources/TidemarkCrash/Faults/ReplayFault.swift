internal import TidemarkLog

/// Power cuts as a disk with a cache of its own makes them: all writes up to a flush are there, and of the later ones any part, some of
/// them torn between sectors.
enum ReplayFault {
  /// States made from one point of a record.
  private static let statesPerCut = 5
  /// From so many points of one record.
  private static let cutsPerRecording = 40

  static func run(_ series: Series) -> Cell {
    series.run(lanes: series.lab.laneCount) { lane, generator, cell in
      let folder = try series.lab.memoryFolder("replay-\(lane)")
      defer { Libc.remove(folder) }
      let share = (series.meter.limit ?? .max) / series.lab.laneCount
      let wanted = min(cutsPerRecording, max(4, share / statesPerCut))
      let player = try Player(series.subject, in: folder)
      while !series.meter.isOver {
        let recording = try Recording.make(series.subject, series.lab, in: folder + "/recording", &generator)
        Libc.remove(folder + "/recording")
        cell.traffic.acknowledgements += recording.traffic.acknowledgements
        cell.traffic.eventBytes += recording.traffic.eventBytes
        cell.traffic.flushes += recording.traffic.flushes
        cell.traffic.writtenBytes += recording.traffic.writtenBytes
        var states = 0
        player.reset()
        for cut in cuts(of: recording, wanted, &generator) {
          player.begin(recording, cut)
          for number in 0..<statesPerCut {
            guard player.choose(number, &generator) else { continue }
            guard series.meter.next() else { return }
            states += 1
            try player.tryState(
              recording, into: &cell, "lane \(lane), cut after \(cut) of \(recording.entries.count) entries, state \(number)")
          }
        }
        if states == 0 { throw CrashError(.environment, "nothing to replay", place: series.subject.name, why: "the disk saw no writes") }
      }
    }
  }

  /// Points of a record to cut at, in ascending order: some of those behind a write, most of them after the first acknowledgement.
  private static func cuts(of recording: Recording, _ wanted: Int, _ generator: inout SplitMix64) -> [Int] {
    let all = recording.entries.indices.filter { !recording.entries[$0].isFlush }.map { $0 + 1 }
    let beginning: Int = recording.marks.first(where: { $0.acknowledged > 0 })?.entryCount ?? 0
    let early: ArraySlice<Int> = all.filter { $0 < beginning }.shuffled(using: &generator).prefix(max(1, wanted / 8))
    let late: ArraySlice<Int> = all.filter { $0 >= beginning }.shuffled(using: &generator).prefix(max(1, wanted - early.count))
    return (early + late).sorted()
  }

  /// Makes images of chosen states, mounts them, and lets the engine read them.
  private final class Player {
    private let subject: Subject
    private let image: String
    private let mountPoint: String
    private let file: Int32
    private let device: LoopDevice
    /// What is on the disk for certain.
    private var durable: [UInt8] = []
    private var isUsed: [Bool] = []
    private var position = 0
    private var cut = 0
    /// Writes since the last flush.
    private var pending: [Recording.Entry] = []
    /// The pieces of them that this state has.
    private var chosen: [(position: Int, bytes: Range<Int>)] = []
    private var seen: Set<Int> = []
    private static let chunk = 4096
    private static let sector = 512

    init(_ subject: Subject, in folder: String) throws(CrashError) {
      self.subject = subject
      image = folder + "/state"
      mountPoint = folder + "/mounted"
      try Libc.makeDirectory(mountPoint)
      try ImageFileSystem.makeFile(image, Recording.diskByteCount)
      file = try Libc.open(image, 2)
      device = try LoopDevice(image: image)
    }

    deinit { Libc.close(file) }

    /// Begins with another recording.
    func reset() {
      durable = []
      pending = []
      position = 0
    }

    /// Goes on to a cut; cuts must come in ascending order.
    func begin(_ recording: Recording, _ cut: Int) {
      if durable.isEmpty {
        durable = recording.base
        isUsed = stride(from: 0, to: durable.count, by: Self.chunk).map { start in
          durable[start..<min(durable.count, start + Self.chunk)].contains { $0 != 0 }
        }
      }
      for entry in recording.entries[position..<cut] {
        guard entry.isFlush else {
          pending.append(entry)
          continue
        }
        for write in pending { apply(recording, write.position, write.bytes) }
        pending = []
      }
      position = cut
      self.cut = cut
      seen = []
    }

    private func apply(_ recording: Recording, _ position: Int, _ bytes: Range<Int>) {
      guard position + bytes.count <= durable.count, !bytes.isEmpty else { return }
      durable.replaceSubrange(position..<position + bytes.count, with: recording.data[bytes])
      for chunk in position / Self.chunk...(position + bytes.count - 1) / Self.chunk { isUsed[chunk] = true }
    }

    /// Chooses what of the pending writes is there; false if that was tried before.
    func choose(_ number: Int, _ generator: inout SplitMix64) -> Bool {
      chosen = []
      let dropped = generator.below(max(1, pending.count))
      let part = [0.15, 0.5, 0.85][generator.below(3)]
      for (index, write) in pending.enumerated() {
        switch number {
        // All of them.
        case 0: chosen.append((write.position, write.bytes))
        // All but one.
        case 1 where index != dropped: chosen.append((write.position, write.bytes))
        // That one torn.
        case 1: tear(write, &generator)
        default:
          let throwOfDice = generator.fraction()
          if throwOfDice < part * 0.7 {
            chosen.append((write.position, write.bytes))
          } else if throwOfDice < part {
            tear(write, &generator)
          }
        }
      }
      var hasher = Hasher()
      for piece in chosen {
        hasher.combine(piece.position)
        hasher.combine(piece.bytes)
      }
      return seen.insert(hasher.finalize()).inserted
    }

    /// Chooses sectors of a write: a first part, a last part, or any. The file system's own superblock stays whole, because it has no other
    /// protection.
    private func tear(_ write: Recording.Entry, _ generator: inout SplitMix64) {
      let count = write.bytes.count / Self.sector
      let holdsSuperblock = write.position < 2048
      guard count > 1, !holdsSuperblock else {
        if generator.oneIn(2) { chosen.append((write.position, write.bytes)) }
        return
      }
      let kind = generator.below(3)
      let border = 1 + generator.below(count - 1)
      for sector in 0..<count {
        let isThere = kind == 0 ? sector < border : kind == 1 ? sector >= border : generator.oneIn(2)
        let start = sector * Self.sector
        if isThere {
          chosen.append((write.position + start, write.bytes.lowerBound + start..<write.bytes.lowerBound + start + Self.sector))
        }
      }
    }

    /// Writes the image, mounts it, and judges what a fresh process finds.
    func tryState(_ recording: Recording, into cell: inout Cell, _ place: String) throws(CrashError) {
      try writeImage(recording)
      device.forgetCache()
      do { try Mounts.mount(device.path, at: mountPoint, type: "ext4") } catch {
        cell.fileSystemFailures += 1
        return
      }
      let result: Captured
      do {
        defer { try? Mounts.unmount(mountPoint) }
        result = try Captured(subject.program, subject.arguments("verify", mountPoint + "/" + Recording.storeName), seconds: 60)
      }
      let expectation = recording.expectation(after: cut)
      guard result.code == 0, let found = Found(output: result.output) else {
        cell.addUnopenable(atRisk: expectation.acknowledged, "\(place): can't be opened\(result.remark)")
        return
      }
      let judgement = Judgement.of(found, expectation)
      cell.recoveryMicroseconds.append(found.openingMicroseconds)
      cell.add(judgement, atRisk: expectation.acknowledged, place)
    }

    private func writeImage(_ recording: Recording) throws(CrashError) {
      guard Libc.truncate(file, to: 0), Libc.truncate(file, to: UInt64(durable.count)) else {
        throw Libc.failure("can't write the image", image)
      }
      var chunk = 0
      while chunk < isUsed.count {
        guard isUsed[chunk] else {
          chunk += 1
          continue
        }
        var end = chunk
        while end < isUsed.count, isUsed[end] { end += 1 }
        let start = chunk * Self.chunk
        guard Libc.write(file, durable[start..<min(durable.count, end * Self.chunk)], at: UInt64(start)) else {
          throw Libc.failure("can't write the image", image)
        }
        chunk = end
      }
      for piece in chosen where !Libc.write(file, recording.data[piece.bytes], at: UInt64(piece.position)) {
        throw Libc.failure("can't write the image", image)
      }
    }
  }
}
