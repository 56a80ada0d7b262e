import Foundation
import TidemarkLog

/// Runs a body on a thread of its own, as a caller does that may block.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}

/// Looks again and again until something is so; false if it is not within ten seconds.
func eventually(_ isSo: () throws -> Bool) async rethrows -> Bool {
  for _ in 0..<5000 {
    if try isSo() { return true }
    try? await Task.sleep(nanoseconds: 2_000_000)
  }
  return false
}

/// Blocks this thread for a while.
func pause(milliseconds: Double) { Thread.sleep(forTimeInterval: milliseconds / 1000) }

/// The files below a directory that this process has open.
func openFiles(under path: String) -> [String] {
  let folder = "/proc/self/fd"
  let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  let files = descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
  return files.filter { $0.hasPrefix(path) }
}

/// A log on the real disk.
final class RealLog: Sendable {
  private let folder: TemporaryFolder
  let path: String
  let options: LogOptions
  let log: Log

  init(_ change: (inout LogOptions) -> Void = { _ in }) throws {
    folder = try TemporaryFolder()
    path = folder.path + "/log"
    var options = LogOptions()
    options.segmentByteCount = 16384
    change(&options)
    self.options = options
    try Log.create(at: path, options: options)
    log = try Log.open(at: path, options: options)
  }

  deinit { try? log.close() }

  func reader() throws -> Log { try Log.openForReading(at: path, options: options) }
}
