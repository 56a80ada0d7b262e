internal import TidemarkLog

// Families by their originals' places, each:
//
//   u8 flags (bit 0 its original is there, bit 1 set aside), id that stands, place (u64 offset, i64 time), u64 number of members, each:
//     u8 flags (bit 0 superseded, bit 1 it is there), id, [place]

extension Corrections {
  func encode(to bytes: inout [UInt8]) {
    bytes.add(UInt64(families.count))
    for family in families.values.sorted(by: { ($0.place.offset, $0.standing) < ($1.place.offset, $1.standing) }) {
      bytes.append((family.hasOriginal ? 1 : 0) | (family.isSetAside ? 2 : 0))
      bytes.add(family.standing)
      bytes.add(place: family.place)
      bytes.add(UInt64(family.ids.count))
      for id in family.ids {
        guard let member = members[id] else { continue }
        bytes.append((member.isNamed ? 1 : 0) | (member.place == nil ? 0 : 2))
        bytes.add(id)
        if let place = member.place { bytes.add(place: place) }
      }
    }
  }

  init(_ reader: inout StateReader) throws(UnreadableEvent) {
    self.init()
    for number in 0..<(try reader.count(elementByteCount: 58)) {
      let flags = try reader.u8()
      var family = Family(ids: [], standing: try reader.id(), place: try reader.place())
      family.hasOriginal = flags & 1 != 0
      family.isSetAside = flags & 2 != 0
      for _ in 0..<(try reader.count(elementByteCount: 17)) {
        let flags = try reader.u8()
        let id = try reader.id()
        let place = flags & 2 != 0 ? try reader.place() : nil
        family.ids.append(id)
        restore(id, Member(place: place, isNamed: flags & 1 != 0, family: number))
      }
      restore(number, family)
    }
  }
}
