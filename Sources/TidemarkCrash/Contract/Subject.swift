/// What an engine's setting says that its acknowledgements survive.
package enum Claim: String, Sendable {
  case power, process, none
}

/// An engine under test: a program with the verbs `describe`, `write` and `verify`.
package struct Subject: Sendable {
  /// Such as `sqlite-wal-full`.
  package var name: String
  package var claim: Claim
  /// The version of the library behind it, if it says.
  package var library: String
  /// Whether it is wrong on purpose.
  package var isControl = false
  /// The program, and what stands before the verb.
  let program: String
  let prefix: [String]

  package init(name: String, claim: Claim, library: String, isControl: Bool = false, program: String, prefix: [String] = []) {
    self.name = name
    self.claim = claim
    self.library = library
    self.isControl = isControl
    self.program = program
    self.prefix = prefix
  }

  func arguments(_ words: String...) -> [String] { prefix + words }

  /// A program of somebody else's, asked what it is.
  init(peer path: String) throws(CrashError) {
    let answer = try Captured(path, ["describe"], seconds: 10)
    let members = FlatJSON.strings(answer.output)
    guard answer.code == 0, let name = members["name"], let setting = members["setting"] else {
      throw CrashError(.environment, "no subject", place: path, why: "`describe` gave no name and setting" + answer.remark)
    }
    self.init(
      name: setting.isEmpty ? name : "\(name)-\(setting)", claim: Claim(rawValue: members["claims"] ?? "") ?? .none,
      library: members["library"] ?? "", program: path)
  }

  /// All programs in a folder, by name.
  package static func peers(in folder: String) throws(CrashError) -> [Subject] {
    guard let names = Libc.names(in: folder) else { throw CrashError(.usage, "no peers", place: folder, why: "it is no directory") }
    var subjects: [Subject] = []
    for name in names {
      let path = "\(folder)/\(name)"
      if Libc.kind(of: Libc.resolved(path) ?? path) == .file, Libc.isExecutable(path) { subjects.append(try Subject(peer: path)) }
    }
    guard !subjects.isEmpty else { throw CrashError(.usage, "no peers", place: folder, why: "it has no executable files") }
    return subjects
  }
}

/// A program that ran to its end, and what it printed.
struct Captured {
  var code: Int32
  var output: [UInt8]
  var errors: String
  var microseconds: UInt64

  /// Runs it; after so many seconds it is killed.
  init(_ path: String, _ arguments: [String], seconds: Int) throws(CrashError) {
    let start = Libc.now()
    let out = try Libc.pipe()
    let err = try Libc.pipe()
    defer {
      Libc.close(out.read)
      Libc.close(err.read)
    }
    let child: ChildProcess
    do {
      defer {
        Libc.close(out.write)
        Libc.close(err.write)
      }
      child = try ChildProcess(path, arguments, output: out.write, errors: err.write)
    }
    output = []
    var errorBytes: [UInt8] = []
    var (open, errorsOpen) = (true, true)
    let deadline = start + UInt64(seconds) * 1_000_000_000
    var late = false
    while open || errorsOpen {
      let now = Libc.now()
      if now >= deadline && !late {
        child.kill()
        late = true
      }
      let ready = Libc.areReadable([open ? out.read : -1, errorsOpen ? err.read : -1], milliseconds: late ? 1000 : 100)
      if ready[0] { open = Libc.read(out.read, into: &output) > 0 }
      if ready[1] { errorsOpen = Libc.read(err.read, into: &errorBytes) > 0 }
      if late && !ready[0] && !ready[1] { break }
    }
    code = child.wait()
    errors = String(decoding: errorBytes.prefix(2000), as: UTF8.self)
    if late { errors += "killed after \(seconds) s" }
    microseconds = (Libc.now() - start) / 1000
  }

  /// What it said on standard error, to be put behind a sentence.
  var remark: String {
    let line = errors.split(separator: "\n").first.map(String.init) ?? ""
    return line.isEmpty ? (code == 0 ? "" : " (exit code \(code))") : " (\(line))"
  }
}

/// The string members of one JSON object without nesting: all that `describe` prints.
enum FlatJSON {
  static func strings(_ bytes: [UInt8]) -> [String: String] {
    var members: [String: String] = [:]
    var words: [String] = []
    var word: [UInt8]?
    var escaped = false
    var afterColon = false
    for byte in bytes {
      if var current = word {
        if escaped {
          current.append(byte)
          escaped = false
        } else if byte == UInt8(ascii: "\\") {
          escaped = true
        } else if byte == UInt8(ascii: "\"") {
          let text = String(decoding: current, as: UTF8.self)
          if afterColon, let name = words.last { members[name] = text } else { words.append(text) }
          afterColon = false
          word = nil
          continue
        } else {
          current.append(byte)
        }
        word = current
      } else if byte == UInt8(ascii: "\"") {
        word = []
      } else if byte == UInt8(ascii: ":") {
        afterColon = true
      } else if byte == UInt8(ascii: ",") {
        afterColon = false
      }
    }
    return members
  }
}
