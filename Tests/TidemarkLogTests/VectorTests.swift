import Foundation
import TestSupport
import Testing
import TidemarkLog

/// Small logs that every later version must read as this one does. The same steps give the same bytes again, or the format has changed.
///
/// With `TIDEMARK_WRITE_VECTORS=1` in the environment they are written; `tools/vectors` adds what they must read as.
@Suite struct VectorTests {
  static let names = [
    "empty", "one-event", "all-fields", "batches", "sessions", "sealed", "stored-raw", "id-index", "trimmed", "unsealed", "recovered",
    "damaged-torn-tail", "damaged-frame", "damaged-sealed-frame", "damaged-footer", "damaged-header", "damaged-identity", "missing-segment",
    "missing-oldest", "missing-newest",
  ]

  static var folder: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Specs/vectors")
  }

  @Test(arguments: names) func `the same steps give the same bytes`(_ name: String) throws {
    let image = try Self.make(name)
    let place = Self.folder.appendingPathComponent(name)
    let files = image.files(under: "/log").filter { !$0.hasSuffix("/lock") && !$0.hasSuffix("/live") }
    if ProcessInfo.processInfo.environment["TIDEMARK_WRITE_VECTORS"] == "1" {
      try? FileManager.default.removeItem(at: place)
      for file in files {
        let target = place.appendingPathComponent(String(file.dropFirst("/log/".count)))
        try FileManager.default.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(image.contents(of: file) ?? []).write(to: target)
      }
      return
    }
    for file in files {
      let stored = try Data(contentsOf: place.appendingPathComponent(String(file.dropFirst("/log/".count))))
      #expect(Array(stored) == image.contents(of: file), "\(file) of \(name)")
    }
  }

  // swift-format-ignore
  static func make(_ name: String) throws -> DiskImage {
    let fixture = try Fixture({
      $0.zerosAheadByteCount = 256
      $0.program = "vectors"
      $0.compression = name == "stored-raw" ? .none : .high
    })
    let log = fixture.log
    func fill(_ range: Range<Int>) throws { for number in range { try log.append(event("måling \(number)", id: id(UInt64(number)))) } }
    switch name {
    case "empty": break
    case "one-event": try log.append(event("a"))
    case "all-fields":
      try log.append(NewEvent(
        type: "sign-in", subject: "Dør 7", actor: "𝒜", time: Timestamp(nanoseconds: 1_600_000_000_120_000_000), timeFractionDigits: 2,
        utcOffsetMinutes: -210, contentType: "application/json", id: id(1),
        extensions: [.correlation(id(2)), .causation(id(3)), .supersedes(id(4)), .subjectKey(id(5)), .attribute(name: "a", value: "é"),
          .attachment(.init(byteCount: 1, digest: [UInt8](repeating: 1, count: 32), mediaType: "image/png", name: "b")),
          .locationFix(.init(time: Timestamp(nanoseconds: 1), elapsed: 2, accuracyMillimetres: 3)), .unknown(tag: 99, value: [7])],
        data: Array(#"{"n":1.50}"#.utf8)))
      try log.append(event("lowest", time: .min))
      try log.append(event("highest", time: .max))
      try log.append(NewEvent(type: "bytes", data: [0, 0xFF, 0x80]))
    case "batches":
      try log.append([event("a"), event("b"), event("c")])
      try log.stage(control: .receipt, data: [1, 2])
      try log.append([event("d"), event("e")])
    case "sessions":
      try log.append(event("a"))
      fixture.clock.reboot()
      try fixture.reopen()
      try fixture.log.append(event("b"))
    case "sealed", "stored-raw":
      try fill(0..<40)
      try log.seal()
      try fill(40..<43)
    case "id-index":
      for part in 0..<9 {
        try fill(part * 2..<part * 2 + 2)
        try log.seal()
      }
    case "trimmed":
      try fill(0..<20)
      try log.seal()
      try fill(20..<30)
      try log.seal()
      try log.trim(below: 21)
    case "unsealed":
      try fill(0..<5)
      try log.roll()
      try fill(5..<8)
    case "recovered":
      try fill(0..<4)
      fixture.disk.processKill()
      var image = fixture.disk.image
      let path = image.files(under: "/log/segments")[0]
      var bytes = image.contents(of: path) ?? []
      let end = bytes.lastIndex { $0 != 0 } ?? 0
      bytes[end] ^= 1
      try image.setContents(of: path, to: bytes)
      let disk = SimulatedDisk(image)
      let again = try Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 4))
      try again.append(event("after"))
      try again.close()
      return disk.image
    default: return try damaged(name)
    }
    try fixture.log.close()
    return fixture.disk.image
  }

  private static func damaged(_ name: String) throws -> DiskImage {
    var image = try make(
      name == "damaged-torn-tail" || name == "damaged-frame" ? "batches" : name == "missing-segment" ? "id-index" : "sealed")
    let files = image.files(under: "/log/segments").sorted()
    let open = files.first { $0.hasSuffix(".open") } ?? ""
    let sealed = files.first { $0.hasSuffix(".sealed") } ?? ""
    func flip(_ path: String, _ position: Int) throws { try image.flipBit(position * 8 + 3, of: path) }
    switch name {
    case "damaged-torn-tail":
      // The close frame, and the last bytes of the frame before it.
      var bytes = image.contents(of: open) ?? []
      let end = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
      for position in (end - 70)..<end { bytes[position] = 0 }
      try image.setContents(of: open, to: bytes)
    case "damaged-frame": try flip(open, 4200)
    case "damaged-sealed-frame": try flip(sealed, 4200)
    case "damaged-footer": try flip(sealed, (image.contents(of: sealed)?.count ?? 0) - 300)
    case "damaged-header": try flip(open, 100)
    case "damaged-identity": try flip("/log/identity", 50)
    case "missing-segment": try image.delete(files[3])
    case "missing-oldest": try image.delete(sealed)
    case "missing-newest": try image.delete(open)
    default: Issue.record("no vector \(name)")
    }
    return image
  }
}
