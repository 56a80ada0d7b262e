public import TidemarkLog
internal import TidemarkText

/// Writes chosen events of a log with all that is needed to check them offline: see `Specs/evidence.md`, *Bundle*.
///
/// ```swift
/// let bundle = try BundleExport(evidence, policy: policyText)
/// try bundle.write([41, 42], to: "case-7")
/// ```
public struct BundleExport {
  private let evidence: Evidence
  private let policyText: String
  private let policy: Policy
  private let files: any FileSystem
  /// Receipts that count, by size.
  private let receipts: [Receipt]
  private let keyEvents: [Offset]
  /// Of receipts that count.
  private let receiptEvents: [Offset]

  /// Reads the log once for its key events and receipts.
  ///
  /// - Parameters:
  ///   - evidence: of the log.
  ///   - policy: the text of the policy that the bundle is made for. Only receipts that meet it are used.
  ///
  /// Throws `LogError.Code.invalidText` for a text that is no policy, and errors of the file system.
  public init(_ evidence: Evidence, policy: String) throws {
    self.evidence = evidence
    policyText = policy
    let parsed = try Policy(policy)
    self.policy = parsed
    files = evidence.log.environment.fileSystem
    let origin = evidence.origin
    func counted(_ note: @autoclosure () throws -> SignedNote) -> Receipt? {
      guard let receipt = try? Receipt(note(), parsed), receipt.checkpoint.origin == origin else { return nil }
      return receipt
    }
    receipts = evidence.notes.compactMap { counted($0) }.sorted { $0.size < $1.size }
    var keyEvents: [Offset] = []
    var receiptEvents: [Offset] = []
    var chain = KeyChain(of: evidence.log.identity, isTrimmed: evidence.log.first > 0)
    var cursor = try evidence.log.read(seen: Query(includesControlEvents: true, onDamage: .skip))
    while let event = try cursor.next() {
      chain.add(event)
      if event.kind == .keyRotation { keyEvents.append(event.offset) }
      if event.kind == .receipt, counted(try SignedNote(event.data.array())) != nil { receiptEvents.append(event.offset) }
    }
    self.keyEvents = keyEvents.filter { !chain.inherited.contains($0) }
    self.receiptEvents = receiptEvents
  }

  private struct Entry {
    var offset: Offset
    var role: String
    var receipt: Receipt
  }

  /// The first receipt that covers an event.
  private func receipt(for offset: Offset) throws -> Receipt {
    guard let found = receipts.first(where: { $0.size > offset }) else {
      throw LogError(
        .notProven, "no receipt covers offset \(offset)", offsets: offset < .max ? offset..<offset + 1 : nil,
        why: "receipts that meet the policy cover \(receipts.last?.size ?? 0) events", advice: "get a receipt, or choose earlier events")
    }
    return found
  }

  /// Writes a new directory.
  ///
  /// Throws `LogError.Code.alreadyExists` if something is there, `LogError.Code.notProven` for an event that no
  /// receipt covers, `LogError.Code.trimmed` for one that is gone, and errors of the file system.
  public func write(_ chosen: [Offset], to path: String) throws {
    if try files.status(path) != nil { throw LogError(.alreadyExists, "something is there", file: path, advice: "name a new directory") }
    let entries = try entries(for: Set(chosen).sorted())
    var used = Set(entries.map(\.receipt.size))
    if let newest = receipts.last { used.insert(newest.size) }
    let notes = receipts.filter { used.remove($0.size) != nil }
    try files.makeDirectory(path)
    try files.makeDirectory("\(path)/proofs")
    try put("policy", Array(policyText.utf8), path)
    try put("notes", notes.reduce(into: [UInt8]()) { $0 += $1.note.bytes + [0x0A] }, path)
    try put("consistency.json", try consistency(notes), path)
    var lines: [UInt8] = []
    for entry in entries {
      let descriptor = try Descriptor(of: entry.offset, in: evidence.log)
      let proof = EventProof(
        descriptor: descriptor, inclusion: try evidence.inclusionProof(of: entry.offset, in: entry.receipt.size), note: entry.receipt.note)
      try put("proofs/\(entry.offset).tlog-proof", Array(proof.description.utf8), path)
      lines += try line(entry)
    }
    try put("events.jsonl", lines, path)
    try put("verify.py", PackageResources.verify_py, path)
    try put("index.html", BundlePage(origin: evidence.origin, rows: try rows(entries)).bytes, path)
    try put("manifest.json", manifest(chosen), path)
    try files.syncDirectory(path)
  }

  private func put(_ name: String, _ bytes: [UInt8], _ path: String) throws {
    try files.replace("\(path)/\(name)", with: bytes)
  }

  private func entries(for chosen: [Offset]) throws -> [Entry] {
    var entries = try chosen.map { Entry(offset: $0, role: "chosen", receipt: try receipt(for: $0)) }
    var others: [Offset: String] = [:]
    for offset in chosen { if let before = receiptEvents.last(where: { $0 < offset }) { others[before] = "receipt" } }
    for offset in keyEvents where offset < receipts.last?.size ?? 0 { others[offset] = "key" }
    for (offset, role) in others where !chosen.contains(offset) {
      entries.append(Entry(offset: offset, role: role, receipt: try receipt(for: offset)))
    }
    return entries.sorted { $0.offset < $1.offset }
  }

  private func line(_ entry: Entry) throws -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("offset", entry.offset)
    let event = try evidence.log.event(at: entry.offset)
    json.member("record", Base64.text(event.view.record.array()))
    json.member("session", Base64.text(try LeafReader.sessionData(evidence.log, at: entry.offset)))
    json.member("role", entry.role)
    json.endObject()
    return json.bytes + [0x0A]
  }

  private func consistency(_ notes: [Receipt]) throws -> [UInt8] {
    var json = JSONWriter()
    json.beginArray()
    for (old, new) in zip(notes, notes.dropFirst()) { try json.value(evidence.consistencyProof(from: old.size, to: new.size)) }
    json.endArray()
    return json.bytes + [0x0A]
  }

  private func manifest(_ chosen: [Offset]) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("format", "tidemark-bundle/1")
    json.member("log", evidence.log.identity.logID.hexadecimal)
    json.member("epoch", evidence.log.identity.epochID.hexadecimal)
    json.member("origin", evidence.origin)
    json.name("chosen")
    json.beginArray()
    for offset in Set(chosen).sorted() { json.number(offset) }
    json.endArray()
    json.endObject()
    return json.bytes + [0x0A]
  }

  private func rows(_ entries: [Entry]) throws -> [BundlePage.Row] {
    try entries.filter { $0.role == "chosen" }.map { entry in
      let event = try evidence.log.event(at: entry.offset)
      let before = receiptEvents.last { $0 < entry.offset }
      let lower = before.flatMap { try? Receipt(SignedNote(evidence.log.event(at: $0).data), policy) }?.time
      return BundlePage.Row(event: event, appendedAfter: lower, appendedBefore: entry.receipt.time, size: entry.receipt.size)
    }
  }
}

extension JSONWriter {
  /// A consistency proof as an object.
  package mutating func value(_ proof: ConsistencyProof) {
    beginObject()
    member("from", proof.oldSize)
    member("to", proof.size)
    name("hashes")
    beginArray()
    for hash in proof.hashes { string(Base64.text(hash.bytes)) }
    endArray()
    endObject()
  }
}
