@testable import TidemarkLog

/// The two slots of an identity, alone and beside a segment that they may belong to.
enum IdentityTarget {
  /// The first byte: bit 0 leaves checksums wrong, bit 1 starts from zeros instead of a sound identity, bit 2 leaves the segment out. Then
  /// triples: a place in the file, and what is added there; with bit 3 packed bytes instead, which replace the file.
  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let flags = input.u8()
    var log = Vectors.log("one-event")
    guard let place = log.files.firstIndex(where: { $0.path == "identity" }) else { return }
    if flags & 2 != 0 { log.files[place].bytes = [UInt8](repeating: 0, count: 8192) }
    if flags & 8 != 0 {
      log.files[place].bytes = Packed.unpack(input.rest(), limit: 20000)
    } else {
      while !input.isAtEnd {
        let at = Int(input.u16() & 0x1FFF)
        let change = input.u8()
        if at < log.files[place].bytes.count { log.files[place].bytes[at] &+= change }
      }
    }
    if flags & 1 == 0 { Repair.pages.apply(to: &log) }
    if flags & 4 != 0 { log.files.removeAll { $0.isSegment } }
    read(log.files[flags & 4 != 0 ? 0 : place].bytes)
    Exercise(log, Exercise.Settings(flags >> 4)).run()
  }

  private static func read(_ bytes: [UInt8]) {
    guard case .identity(let identity, let generation, let damaged) = IdentityPages.read(bytes) else { return }
    require((1...IdentityPages.epochLimit).contains(identity.epochs.count), "an identity has \(identity.epochs.count) epochs")
    require(damaged.count <= 2, "\(damaged.count) slots of two are damaged")
    let page = IdentityPages.encode(identity, generation: generation)
    guard case .identity(let again, let same, _) = IdentityPages.read(page) else { violated("an identity can't be read again") }
    require(again == identity && same == generation, "an identity changes when it is encoded again")
  }

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    var inputs: [(name: String, bytes: [UInt8])] = [("sound", [0]), ("zeros", [2]), ("alone", [4]), ("unrepaired", [1, 44, 0, 1])]
    for (name, at) in [("generation", 32), ("log-id", 40), ("kind", 8), ("version", 10), ("feature", 24), ("epochs", 66), ("epoch", 80)] {
      inputs.append((name, [0, UInt8(at), 0, 1]))
      inputs.append((name + "-slot-1", [0x10, UInt8(at), 0x10, 1]))
    }
    for name in ["one-event", "damaged-identity"] {
      if let file = Vectors.log(name).files.first(where: { $0.path == "identity" }) {
        inputs.append(("\(name)-packed", [8] + Packed.pack(file.bytes)))
      }
    }
    return inputs
  }
}
