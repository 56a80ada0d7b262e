import TidemarkEvidence
import TidemarkLog
import TidemarkText

/// Arguments and options that the commands about evidence share.
extension CommandDescription.Option {
  static let keys = Self("keys", "DIR", "where the device's signing keys are (default evidence/keys in the log's directory)")
  static let policy = Self("policy", "FILE", "whose signatures count: a C2SP tlog-policy, from somebody you trust and not from the device")
  static let clockPolicy = Self(
    "clock-policy", "FILE", "thresholds of the clock rules other than the built-in ones; Specs/clocks.md says what the file holds")
}

extension ParsedArguments {
  /// The thresholds that were named, or the built-in ones.
  var clockPolicy: ClockPolicy {
    get throws {
      try value("clock-policy").map { try ClockPolicy(json: System.readFile($0, upTo: 1 << 20), file: $0) } ?? .standard
    }
  }

  /// The directory of the device's keys.
  func keyDirectory(_ log: Log) throws -> KeyDirectory {
    if let path = value("keys") { return try KeyDirectory(at: path) }
    return try KeyDirectory(at: Evidence.keyPath(of: log))
  }

  /// The text of the policy that was named.
  var policyText: String? {
    get throws {
      try value("policy").map { String(decoding: try System.readFile($0, upTo: 1 << 20), as: UTF8.self) }
    }
  }

  /// The policy that was named.
  var policy: Policy? {
    get throws { try policyText.map { try Policy($0) } }
  }

  /// A log that is only looked at.
  func readLog() throws -> Log { try Log.openForReading(at: logPath) }
}

/// A directory that stands in for a server: a cosigning key, and the heads that it signed.
struct CountersignerDirectory {
  let countersigner: Countersigner

  private static func nameFile(_ path: String) -> String { path + "/name" }

  static func create(_ path: String, name: String) throws -> CountersignerDirectory {
    if System.isDirectory(path), try !System.names(in: path).isEmpty {
      throw ToolError(.usage, "something is there", place: path, why: "the directory is not empty", advice: "name a new one")
    }
    let keys = try KeyDirectory(at: path)
    _ = try VerifierKey(name: name, kind: .cosignature, publicKey: [UInt8](repeating: 0, count: 32))
    _ = try keys.makeKey()
    try System.writeFile(nameFile(path), Array("\(name)\n".utf8))
    return try CountersignerDirectory(path)
  }

  init(_ path: String) throws {
    guard System.isDirectory(path) else {
      throw ToolError(
        .usage, "no countersigner", place: path, why: "there is no such directory", advice: "make one: tidemark countersigner")
    }
    let keys = try KeyDirectory(at: path)
    let name = String(decoding: try System.readFile(Self.nameFile(path), upTo: 1 << 10).dropLast(), as: UTF8.self)
    guard let publicKey = try keys.publicKeys().first else {
      throw ToolError(.environment, "no countersigner", place: path, why: "its key is gone", advice: "restore it from a backup")
    }
    countersigner = try Countersigner(name: name, keys: keys, publicKey: publicKey, memory: HeadDirectory(at: path + "/heads"))
  }
}
