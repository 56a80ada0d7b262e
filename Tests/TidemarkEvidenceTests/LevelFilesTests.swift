import Foundation
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct LevelFilesTests {
  @Test func `however many leaves are kept, few files are open, and all that was written is synced`() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    var files = LevelFiles(directory.path, POSIXFileSystem())
    let leaf = SHA256().hash([1])
    for number: UInt64 in 0..<50 { try files.store([leaf], level: 0, from: number << 16) }
    try files.flush(syncs: true)
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"))?.hasPrefix(directory.path) ?? false
    }
    #expect(open <= 2)
    for number: UInt64 in 0..<50 { #expect(try files.load(level: 0, number << 16..<number << 16 + 1) == [leaf]) }
  }
}
