/// The tool as a subject: the verbs of the contract for our own settings.
package enum SubjectProgram {
  /// The tool's hidden command.
  package static let word = "crashtest-subject"

  /// Runs one verb; returns the exit code.
  package static func run(_ words: [String], version: String) -> Int32 {
    guard words.count >= 2, let setting = OwnSetting(rawValue: words[0]) else { return usage() }
    do {
      switch words[1] {
      case "describe" where words.count == 2: return try describe(setting, version)
      case "write" where words.count >= 3: return try write(setting, words[2], Array(words.dropFirst(3)))
      case "verify" where words.count == 3: return try verify(setting, words[2])
      default: return usage()
      }
    } catch {
      _ = Libc.write(2, Array("\(error)".replacing("\n", with: " ").utf8) + [UInt8(ascii: "\n")])
      return 1
    }
  }

  private static func usage() -> Int32 {
    let text =
      "usage: tidemark \(word) SETTING describe | write DIR --first N [--count N] [--size BYTES] [--batch N] | verify DIR\n"
      + "settings: \(OwnSetting.allCases.map(\.rawValue).joined(separator: ", "))\n"
    _ = Libc.write(2, Array(text.utf8))
    return 2
  }

  private static func describe(_ setting: OwnSetting, _ version: String) throws -> Int32 {
    let parts = setting.rawValue.split(separator: "-", maxSplits: 1)
    let library = parts[0] == "tidemark" ? version : ""
    try say("{\"name\":\"\(parts[0])\",\"setting\":\"\(parts[1])\",\"claims\":\"\(setting.claim.rawValue)\",\"library\":\"\(library)\"}\n")
    return 0
  }

  /// Opens a store, which recovers it; makes it if that is wanted and it is not there.
  private static func open(_ setting: OwnSetting, _ path: String, creates: Bool) throws -> (any Store)? {
    if setting.rawValue.hasPrefix("tidemark") { return try TidemarkStore(path, setting, creates: creates) }
    return !creates && Libc.kind(of: path) == nil ? nil : try PlainStore(path, setting)
  }

  private static func write(_ setting: OwnSetting, _ path: String, _ options: [String]) throws -> Int32 {
    var values: [String: UInt64] = ["--count": .max, "--size": 200, "--batch": 1]
    for index in stride(from: 0, to: options.count, by: 2) {
      guard ["--first", "--count", "--size", "--batch"].contains(options[index]), index + 1 < options.count,
        let value = UInt64(options[index + 1])
      else { return usage() }
      values[options[index]] = value
    }
    guard let first = values["--first"], let count = values["--count"], let size = values["--size"], let batch = values["--batch"],
      batch > 0, size >= UInt64(Content.minimumByteCount)
    else { return usage() }
    guard var store = try open(setting, path, creates: true) else { return 1 }
    var next = first
    let end = first.addingReportingOverflow(count).overflow ? UInt64.max : first + count
    while next < end {
      let numbers = next..<min(end, next + batch)
      try store.append(numbers.map { Content.bytes(of: $0, count: Int(size)) })
      next = numbers.upperBound
      try say("\(next - 1)\n")
    }
    try store.close()
    return 0
  }

  private static func verify(_ setting: OwnSetting, _ path: String) throws -> Int32 {
    let start = Libc.now()
    // Whatever is there of a store that was being made is the engine's to make sense of.
    guard var store = try open(setting, path, creates: false) else {
      try say("end 0 0\n")
      return 0
    }
    let microseconds = (Libc.now() - start) / 1000
    var text: [UInt8] = []
    var count = 0
    try store.forEach { bytes in
      let (number, isRight) = Content.check(bytes)
      text.append(contentsOf: "\(number)".utf8)
      if !isRight { text.append(contentsOf: " bad".utf8) }
      text.append(UInt8(ascii: "\n"))
      count += 1
    }
    try store.close()
    text.append(contentsOf: "end \(count) \(microseconds)\n".utf8)
    try Libc.writeAll(1, text, "standard output")
    return 0
  }

  private static func say(_ text: String) throws(CrashError) { try Libc.writeAll(1, Array(text.utf8), "standard output") }
}
