import TidemarkLog
import TidemarkText

#if canImport(Glibc)
  import Glibc
#endif

// What libFuzzer calls. The environment says what is to be done, because the arguments are libFuzzer's own:
//
//   TIDEMARK_FUZZ_TARGET    which target
//   TIDEMARK_FUZZ_VECTORS   the folder of the vectors
//   TIDEMARK_FUZZ_EXPLAIN   if set: print each step and what it found
//   TIDEMARK_FUZZ_PLANT     if set: take the check away whose absence the target must find
//   TIDEMARK_FUZZ_CORPUS    if set: write the first inputs of all targets into this folder, one folder each, and end

// Set once, before the first input is run.
nonisolated(unsafe) private var target = FuzzTarget.frame

@_cdecl("LLVMFuzzerInitialize")
public func fuzzerInitialize(_ count: UnsafeMutablePointer<CInt>?, _ words: UnsafeMutableRawPointer?) -> CInt {
  do {
    guard let vectors = variable("TIDEMARK_FUZZ_VECTORS") else { end("TIDEMARK_FUZZ_VECTORS is not set") }
    try Vectors.load(from: vectors)
    if let folder = variable("TIDEMARK_FUZZ_CORPUS") {
      try writeCorpus(folder)
      exit(0)
    }
    guard let name = variable("TIDEMARK_FUZZ_TARGET"), let chosen = FuzzTarget(rawValue: name) else {
      end("TIDEMARK_FUZZ_TARGET is one of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))")
    }
    target = chosen
    if variable("TIDEMARK_FUZZ_PLANT") != nil {
      TidemarkLog.PlantedTrap.active = TidemarkLog.PlantedTrap(rawValue: name)
      TidemarkText.PlantedTrap.active = TidemarkText.PlantedTrap(rawValue: name)
    }
    explains = variable("TIDEMARK_FUZZ_EXPLAIN") != nil
  } catch { end("\(error)") }
  return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzerTestOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}

/// Tells a step on standard error, which a trap does not lose.
func explain(_ what: @autoclosure () -> String) {
  guard explains else { return }
  let line = Array((what() + "\n").utf8)
  _ = write(2, line, line.count)
}

private func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

private func end(_ why: String) -> Never {
  print(why)
  exit(64)
}

private func writeCorpus(_ folder: String) throws {
  let disk = POSIXFileSystem()
  for target in FuzzTarget.allCases {
    let path = "\(folder)/\(target.rawValue)"
    if try disk.status(path) == nil { try disk.makeDirectory(path) }
    for old in try disk.list(path) { try disk.remove("\(path)/\(old)") }
    for (name, bytes) in target.corpus() {
      let file = try disk.open("\(path)/\(name)", .create)
      try file.write(bytes.rawSpan, at: 0)
      file.close()
    }
  }
}
