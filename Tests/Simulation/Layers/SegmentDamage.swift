import TestSupport
import TidemarkLog

/// Damage to whole segments.
struct SegmentDamage: CustomStringConvertible {
  enum Kind {
    case delete(Int)
    /// So many bytes are left: it ends behind one of its frames.
    case cut(Int, byteCount: Int)
    case swap(Int, Int)
    /// The same bytes under another segment's id.
    case double(Int)
    /// The same bytes under a higher base.
    case rename(Int)
    /// The bytes of a segment of another log.
    case replace(Int)
  }

  let kind: Kind
  let expectation: Expectation
  let description: String

  static func all(_ specimen: Specimen) -> [SegmentDamage] {
    let subjects = specimen.subjects.filter { specimen.segments.contains($0.path) }
    var damages: [SegmentDamage] = []
    for (index, subject) in subjects.enumerated() {
      var lost = Expectation(mayLose: subject.offsets)
      // Without the newest, the log looks as it did before that was begun.
      lost.mayRollBack = subject.isNewest
      damages.append(SegmentDamage(kind: .delete(index), expectation: lost, description: "\(subject.path) deleted"))
      damages.append(SegmentDamage(kind: .replace(index), expectation: lost, description: "\(subject.path) replaced by another log's"))
      damages.append(SegmentDamage(kind: .rename(index), expectation: lost, description: "\(subject.path) renamed to a higher base"))
      damages.append(
        SegmentDamage(
          kind: .double(index), expectation: Expectation(mayLose: 0..<0), description: "\(subject.path) doubled under another id"))
      if !subject.isNewest {
        for frame in subject.frames {
          let kept = Expectation(mayLose: frame.offsets.lowerBound..<subject.offsets.upperBound)
          let text = "\(subject.path) cut behind offset \(frame.offsets.lowerBound)"
          damages.append(SegmentDamage(kind: .cut(index, byteCount: frame.position), expectation: kept, description: text))
        }
      }
      for other in subjects.indices where other > index {
        let both =
          min(
            subject.offsets.lowerBound, subjects[other].offsets.lowerBound)..<max(
            subject.offsets.upperBound, subjects[other].offsets.upperBound)
        var expectation = Expectation(mayLose: both)
        expectation.mayRollBack = subjects[other].isNewest
        damages.append(
          SegmentDamage(
            kind: .swap(index, other), expectation: expectation, description: "\(subject.path) and \(subjects[other].path) swapped"))
      }
    }
    return damages
  }

  func apply(to image: inout DiskImage, _ specimen: Specimen) throws {
    let paths = specimen.segments
    switch kind {
    case .delete(let index): try image.delete(paths[index])
    case .cut(let index, let byteCount):
      try image.setContents(of: paths[index], to: Array((image.contents(of: paths[index]) ?? []).prefix(byteCount)))
    case .swap(let index, let other):
      let (first, second) = (image.contents(of: paths[index]) ?? [], image.contents(of: paths[other]) ?? [])
      try image.setContents(of: paths[index], to: second)
      try image.setContents(of: paths[other], to: first)
    case .double(let index):
      try image.setContents(of: renamed(paths[index], base: nil, id: 0x0D0B1E), to: image.contents(of: paths[index]) ?? [])
    case .rename(let index):
      let bytes = image.contents(of: paths[index]) ?? []
      try image.delete(paths[index])
      try image.setContents(of: renamed(paths[index], base: 1 << 40, id: nil), to: bytes)
    case .replace(let index):
      let other = try Specimen(specimen.kind, seed: 0xF0E16)
      try image.setContents(of: paths[index], to: other.image.contents(of: other.segments[min(index, other.segments.count - 1)]) ?? [])
    }
  }

  private func renamed(_ path: String, base: UInt64?, id: UInt64?) -> String {
    let folder = Driver.path + "/segments/"
    let name = path.dropFirst(folder.count)
    let digits = base.map { String($0) } ?? String(name.prefix(20))
    let ids = id.map { EventID(high: $0, low: $0).hexadecimal } ?? String(name.dropFirst(21).prefix(32))
    return folder + String(repeating: "0", count: 20 - digits.count) + digits + "-" + ids + name.dropFirst(53)
  }
}
