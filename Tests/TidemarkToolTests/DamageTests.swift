import Foundation
import Testing

@Suite("The tool on damaged logs")
struct DamageTests {
  let space: Workspace
  /// The sealed segment in the middle of three.
  let segment: String

  init() throws {
    space = try Workspace()
    try space.run("init", "log")
    for part in 0..<3 {
      try space.run("append", "log", "--batch", "100", input: (0..<100).map { "\(part * 100 + $0)\n" }.joined())
      #expect(try space.run("seal", "log").code == 0)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: space.path("log/segments")).filter { $0.hasSuffix(".sealed") }.sorted()
    try #require(names.count == 3)
    segment = "log/segments/" + names[1]
  }

  func damage() throws {
    var bytes = try space.bytes(segment)
    bytes[4_096 + 100] ^= 0x10
    try FileManager.default.removeItem(atPath: space.path(segment))
    try space.write(segment, bytes)
  }

  @Test("cat prints what stands before the damage, then the error, with exit code 4")
  func cat() throws {
    try damage()
    let result = try space.run("cat", "log", "--format", "raw")
    #expect(result.code == 4)
    #expect(result.lines == (0..<100).map { "\($0)" })
    #expect(result.errors.contains(segment.dropFirst(4)) && result.errors.contains("byte 4096"), "\(result.errors)")
  }

  @Test("cat --salvage passes over it, lists it, and ends with exit code 1")
  func salvagingCat() throws {
    try damage()
    let result = try space.run("cat", "log", "--format", "raw", "--salvage")
    #expect(result.code == 1)
    #expect(result.lines == ((0..<100).map { "\($0)" } + (200..<300).map { "\($0)" }))
    #expect(result.errors.contains("passed over damaged-frame"), "\(result.errors)")
  }

  @Test("cat, and salvage, tell that the newest segment is gone")
  func missingNewest() throws {
    try space.run("append", "log", input: "300\n")
    let names = try FileManager.default.contentsOfDirectory(atPath: space.path("log/segments"))
    try FileManager.default.removeItem(atPath: space.path("log/segments/" + #require(names.first { $0.hasSuffix(".open") })))
    let result = try space.run("cat", "log", "--format", "raw")
    #expect(result.code == 4 && result.lines.count == 300)
    #expect(result.errors.contains("missing-newest (log/segments): "), "\(result.errors)")
    #expect(try space.run("cat", "log", "--limit", "5").code == 0)
    let passing = try space.run("cat", "log", "--format", "raw", "--salvage")
    #expect(passing.code == 1 && passing.lines.count == 300 && passing.errors.contains("passed over missing-newest"))
    let salvaged = try space.run("salvage", "log", "saved")
    #expect(salvaged.code == 1 && salvaged.output.contains("lost missing-newest"), "\(salvaged.output)")
  }

  @Test("init refuses a log that has lost its identity, and leaves it alone")
  func lostIdentity() throws {
    try FileManager.default.removeItem(atPath: space.path("log/identity"))
    let result = try space.run("init", "log")
    #expect(result.code == 3 && result.errors.contains("only its identity is missing"), "\(result.errors)")
    #expect(try space.run("cat", "log", "--format", "raw").lines.count == 300)
  }

  @Test("verify names it and ends with exit code 1")
  func verify() throws {
    try damage()
    let result = try space.run("verify", "log", "--json")
    #expect(result.code == 1)
    let report = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
    let findings = try #require(report?["findings"] as? [[String: Any]])
    #expect(report?["ok"] as? Bool == false)
    #expect(
      findings.contains {
        $0["kind"] as? String == "damaged-frame" && $0["position"] as? Int == 4_096 && $0["file"] as? String == String(segment.dropFirst(4))
      })
    #expect(try space.run("verify", "log").output.contains("damaged-frame \(segment.dropFirst(4)), byte 4096, offsets "))
  }

  @Test("salvage saves the rest into a new log and ends with exit code 1")
  func salvage() throws {
    try damage()
    let before = try space.bytes(segment)
    let result = try space.run("salvage", "log", "saved")
    #expect(result.code == 1)
    #expect(result.output.contains("lost ") && result.output.contains("saved 200 events"), "\(result.output)")
    #expect(try space.run("cat", "saved", "--format", "raw", "--salvage").lines.count == 200)
    #expect(try space.bytes(segment) == before)
  }

  @Test("commands that write refuse corruption with exit code 4, and quarantine goes on")
  func policies() throws {
    try FileManager.default.removeItem(atPath: space.path(segment))
    for command in [["append", "log"], ["recover", "log"], ["seal", "log"], ["trim", "log", "--below", "1"]] {
      let result = try space.run(command, input: [])
      #expect(result.code == 4, "\(command): \(result.errors)")
    }
    let recovered = try space.run("recover", "log", "--policy", "quarantine")
    #expect(recovered.code == 0)
    #expect(recovered.output.contains("missing-segment") || recovered.output.contains("gap"), "\(recovered.output)")
    #expect(try space.run("append", "log", "--on-corruption", "quarantine", input: "300\n").code == 0)
    #expect(try space.run("cat", "log", "--format", "raw", "--salvage").lines.count == 201)
  }

  @Test("dump goes through damage without an end to its words")
  func dump() throws {
    try damage()
    #expect(try space.run("dump", segment).code == 0)
    try space.write("noise", (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    #expect(try [0, 4].contains(space.run("dump", "noise").code))
  }
}
