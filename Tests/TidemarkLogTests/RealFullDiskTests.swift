import Foundation
import TestSupport
import Testing
import TidemarkLog

/// A file system of half a megabyte in memory. Needs the right to mount.
private final class SmallFileSystem {
  static let isAvailable: Bool = (try? SmallFileSystem()) != nil

  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard try Self.run("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", path) else {
      try? FileManager.default.removeItem(atPath: path)
      throw CocoaError(.fileWriteNoPermission)
    }
  }

  deinit {
    _ = try? Self.run("umount", path)
    try? FileManager.default.removeItem(atPath: path)
  }

  private static func run(_ arguments: String...) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  /// Takes all space that is left.
  func fill() {
    _ = FileManager.default.createFile(atPath: path + "/fill", contents: nil)
    guard let file = FileHandle(forWritingAtPath: path + "/fill") else { return }
    for size in [65536, 4096, 512] {
      while (try? file.write(contentsOf: Data(count: size))) != nil {}
    }
    try? file.close()
  }

  func free() throws { try FileManager.default.removeItem(atPath: path + "/fill") }
}

/// The same as on the simulated disk, where a real file system runs full.
@Suite(.enabled(if: SmallFileSystem.isAvailable, "no right to mount a file system")) struct RealFullDiskTests {
  private var options: LogOptions {
    var options = LogOptions()
    options.segmentByteCount = 65536
    options.zerosAheadByteCount = 4096
    return options
  }

  /// In a process of its own: what went wrong once was a signal.
  @Test func `opening, reading and verifying work without a free byte`() async {
    await #expect(processExitsWith: .success) {
      let disk = try SmallFileSystem()
      var options = LogOptions()
      options.segmentByteCount = 65536
      options.zerosAheadByteCount = 4096
      let path = disk.path + "/log"
      try Log.create(at: path, options: options)
      var log = try Log.open(at: path, options: options)
      try await log.append((0..<50).map { event("\($0)") })
      try log.close()
      disk.fill()
      for _ in 0..<2 {
        log = try Log.open(at: path, options: options)
        let reader = try Log.openForReading(at: path, options: options)
        #expect(try Fixture.texts(log).count == 50 && Fixture.texts(reader).count == 50)
        #expect(try log.verify().isOK)
        try log.close()
      }
      try disk.free()
      log = try Log.open(at: path, options: options)
      try await log.append(event("50"))
      #expect(try Fixture.texts(log).count == 51)
      try log.close()
    }
  }

  @Test func `appends fail while it is full, and the first after it succeeds`() throws {
    let disk = try SmallFileSystem()
    let path = disk.path + "/log"
    try Log.create(at: path, options: options)
    let log = try Log.open(at: path, options: options)
    var kept: [String] = []
    for round in 0..<3 {
      try log.append(event("before \(round)"))
      kept.append("before \(round)")
      disk.fill()
      var refusals = 0
      for number in 0..<120 {
        do {
          let text = "\(round)-\(number)" + String(repeating: " some text", count: 60)
          try log.append(event(text))
          kept.append(text)
        } catch LogError.Code.diskFull { refusals += 1 }
      }
      #expect(refusals > 0)
      try disk.free()
      try log.append(event("after \(round)"))
      kept.append("after \(round)")
      #expect(try Fixture.texts(log) == kept)
    }
    try log.close()
    let reader = try Log.openForReading(at: path, options: options)
    #expect(try Fixture.texts(reader) == kept)
    #expect(try reader.verify().isOK)
  }
}
