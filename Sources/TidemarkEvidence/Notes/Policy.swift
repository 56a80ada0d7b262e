internal import TidemarkLog

/// Whose keys count: a C2SP tlog-policy. Pinned by whoever verifies; nothing in it comes from the device.
///
/// ```
/// log tidemark/…+3b5e…+AT…        a device's key
/// witness server witness.example/1+c4e5…+BO…
/// quorum server
/// ```
///
/// ```swift
/// let policy = try Policy(text)
/// guard policy.isMet(by: receipt) else { return }
/// ```
public struct Policy: Sendable {
  /// Keys of devices, each for the history that it is named after.
  public private(set) var logs: [VerifierKey] = []
  /// Keys of servers, by the names they have in this policy.
  public private(set) var witnesses: [(name: String, key: VerifierKey)] = []
  private var groups: [String: (threshold: Int, members: [String])] = [:]
  /// Nil if no cosignature is asked for.
  private var quorum: String?

  private static let lineLimit = 1000

  /// Reads a policy. Throws `LogError.Code.invalidText` with the line.
  public init(_ text: String) throws {
    var isComplete = false
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count <= Self.lineLimit else { throw LogError.malformed("a policy", "it has \(lines.count) lines, the limit is 1,000") }
    for (index, line) in lines.enumerated() {
      let words = line.split { $0 == " " || $0 == "\t" }.map(String.init)
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      func refuse(_ why: String) -> LogError { .malformed("a policy", line: index + 1, why) }
      if isComplete && first == "quorum" { throw refuse("there is a second quorum") }
      switch (first, words.count) {
      case ("log", 2...3):
        let key = try VerifierKey(words[1])
        guard key.kind == .note else { throw refuse("a log's key is of kind 1") }
        guard !logs.contains(where: { $0.publicKey == key.publicKey }) else { throw refuse("this key is there already") }
        logs.append(key)
      case ("witness", 3...4):
        let key = try VerifierKey(words[2])
        guard key.kind == .cosignature else { throw refuse("a witness's key is of kind 4") }
        guard isNew(words[1]), !witnesses.contains(where: { $0.key.publicKey == key.publicKey }) else {
          throw refuse("\(words[1]), or its key, is there already")
        }
        witnesses.append((words[1], key))
      case ("group", 4...):
        let members = Array(words[3...])
        let threshold = words[2] == "all" ? members.count : words[2] == "any" ? 1 : Int(words[2]) ?? 0
        guard isNew(words[1]) else { throw refuse("\(words[1]) is there already") }
        guard members.allSatisfy({ $0 != "none" && !isNew($0) }), Set(members).count == members.count, !members.contains(where: isMember)
        else {
          throw refuse("a member is not named above, or is in a group already")
        }
        guard (1...members.count).contains(threshold) else { throw refuse("\(words[2]) of \(members.count) members can't be") }
        groups[words[1]] = (threshold, members)
      case ("quorum", 2):
        guard words[1] == "none" || !isNew(words[1]) else { throw refuse("\(words[1]) is not named above") }
        quorum = words[1] == "none" ? nil : words[1]
        isComplete = true
      default: throw refuse("`\(first)` is no line of a policy, or has too few or too many words")
      }
    }
    guard isComplete else { throw LogError.malformed("a policy", "it has no quorum") }
  }

  /// The policy that one server's signature is enough.
  public init(server: VerifierKey) throws {
    try self.init("witness server \(server)\nquorum server\n")
  }

  private func isNew(_ name: String) -> Bool { name != "none" && groups[name] == nil && !witnesses.contains { $0.name == name } }
  private func isMember(_ name: String) -> Bool { groups.values.contains { $0.members.contains(name) } }

  /// Whether it asks for cosignatures at all.
  public var asksForCosignatures: Bool { quorum != nil }

  /// The cosignatures under a checkpoint that count.
  public func cosignatures(of note: SignedNote) -> [(name: String, cosignature: Cosignature)] {
    witnesses.compactMap { witness in note.cosignature(by: witness.key).map { (witness.name, $0) } }
  }

  /// Whether those who must have cosigned have. False if nobody must: such a policy proves nothing about time or a second holder.
  public func isMet(by note: SignedNote) -> Bool {
    guard let quorum else { return false }
    return isMet(quorum, Set(cosignatures(of: note).map(\.name)))
  }

  private func isMet(_ name: String, _ cosigners: Set<String>) -> Bool {
    guard let group = groups[name] else { return cosigners.contains(name) }
    return group.members.count { isMet($0, cosigners) } >= group.threshold
  }

  /// The keys that count for a history.
  public func keys(of origin: String) -> [VerifierKey] { logs.filter { $0.name == origin } }
}
