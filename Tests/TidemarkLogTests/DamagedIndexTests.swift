import TestSupport
import Testing
import TidemarkLog

/// What sealing derived can be damaged without anything being lost, and without stopping anything.
@Suite struct DamagedIndexTests {
  @Test func `a damaged id page does not stop sealing`() throws {
    let fixture = try Fixture()
    for number in 0..<6 {
      try fixture.log.append(event("\(number)", id: id(UInt64(number))))
      try fixture.log.seal()
    }
    try fixture.log.close()
    let sealed = fixture.segmentFiles[2]
    // An id page ends where the index frame begins.
    try fixture.disk.image.flipBit(8 * ((fixture.disk.image.contents(of: sealed)?.count ?? 0) - 512 - 400), of: sealed)
    #expect(try fixture.verify().findings.map(\.kind) == [.damagedIndex])
    try fixture.reopen()
    for number in 6..<12 {
      try fixture.log.append(event("\(number)", id: id(UInt64(number))))
      try fixture.log.seal()
    }
    #expect(try fixture.verify().findings.isEmpty)
    #expect(fixture.disk.image.files(under: "/log/index").count == 1)
    #expect(try fixture.log.append(event("2", id: id(2))).isDuplicate)
  }

  /// Its footer is gone, and so are the last of its frames: that is more than a damaged index.
  @Test func `a sealed segment that was cut short is refused, or reported as a gap`() throws {
    let fixture = try Fixture()
    for number in 0..<40 { try fixture.log.append(event("\(number)" + String(repeating: "x", count: 800), id: id(UInt64(number)))) }
    try fixture.log.seal()
    try fixture.log.append(event("last"))
    try fixture.log.close()
    let sealed = fixture.segmentFiles[0]
    let bytes = try #require(fixture.disk.image.contents(of: sealed))
    try fixture.disk.image.setContents(of: sealed, to: Array(bytes.prefix(4096 + 200)))
    // Something harmless beside it stays too where the log is refused.
    let unfinished = try #require(fixture.segmentFiles.last) + ".tmp"
    try fixture.disk.image.setContents(of: unfinished, to: [1])
    let before = fixture.segmentFiles
    var options = fixture.options
    options.onCorruption = .refuse
    let refused = error { _ = try Log.open(at: "/log", options: options, environment: fixture.environment) }
    #expect(refused?.code == .corrupt && refused?.file == sealed && refused?.offsets?.isEmpty == false)
    #expect(fixture.segmentFiles == before)
    let reading = error { _ = try Log.openForReading(at: "/log", options: options, environment: fixture.environment) }
    #expect(reading == refused)
    try fixture.disk.image.delete(unfinished)
    try fixture.reopen { $0.onCorruption = .quarantine }
    #expect(fixture.log.recoveryReport.findings.map(\.kind) == [.damagedIndex, .damagedFrame])
    let gap = try #require(fixture.log.recoveryReport.gaps.first)
    #expect(refused?.offsets == gap)
    try fixture.log.append(event("new"))
    #expect(try Fixture.texts(fixture.log, Query(onDamage: .skip)).suffix(2) == ["last", "new"])
  }

  @Test func `a damaged run of the id index is made again`() throws {
    let fixture = try Fixture()
    func fill(_ range: Range<Int>) throws {
      for number in range {
        try fixture.log.append(event("\(number)", id: id(UInt64(number))))
        try fixture.log.seal()
      }
    }
    try fill(0..<8)
    let run = try #require(fixture.disk.image.files(under: "/log/index").first)
    try fixture.log.close()
    try fixture.disk.image.flipBit(8 * 5000, of: run)
    #expect(try fixture.verify().findings.map(\.kind) == [.damagedIndex])
    try fixture.reopen()
    try fill(8..<64)
    #expect(try fixture.verify().findings.isEmpty)
    #expect(try fixture.log.append(event("2", id: id(2))).isDuplicate)
  }
}
