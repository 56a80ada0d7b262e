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
