import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct NoteTests {
  /// The example of C2SP signed-note.
  private let published = """
    This is an example message.

    \u{2014} example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=

    """
  private let publishedKey = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"

  @Test func `the published note verifies, and with any byte changed it does not`() throws {
    let key = try VerifierKey(publishedKey)
    let bytes = Array(published.utf8)
    let note = try SignedNote(bytes)
    #expect(note.isSigned(by: key) && note.bytes == bytes && key.description == publishedKey)
    for at in bytes.indices {
      for mask in [UInt8(1), 0x20, 0x80] {
        var changed = bytes
        changed[at] ^= mask
        let accepted = (try? SignedNote(changed))?.isSigned(by: key) ?? false
        #expect(!accepted, "byte \(at)")
      }
    }
    for count in bytes.indices { #expect((try? SignedNote(Array(bytes[..<count])))?.isSigned(by: key) ?? false == false) }
  }

  @Test func `a key's text with any byte changed is refused, or is another key`() throws {
    let key = try VerifierKey(publishedKey)
    let bytes = Array(publishedKey.utf8)
    for at in bytes.indices {
      for value in [UInt8(ascii: "A"), UInt8(ascii: "+"), UInt8(ascii: " "), UInt8(ascii: "\n"), 0xFF] where value != bytes[at] {
        var changed = bytes
        changed[at] = value
        #expect((try? VerifierKey(String(decoding: changed, as: UTF8.self))) != key)
      }
      #expect((try? VerifierKey(String(decoding: bytes[..<at], as: UTF8.self))) == nil)
    }
  }

  @Test func `a second signature of the same key that does not verify is not passed over`() throws {
    let key = try VerifierKey(publishedKey)
    let lines = published.split(separator: "\n", omittingEmptySubsequences: false)
    let forged = lines[2].replacing("Uw2QOkn8", with: "Uw2QOkn9")
    let both = try SignedNote(Array("\(lines[0])\n\n\(lines[2])\n\(forged)\n".utf8))
    #expect(both.signatures.count == 2 && !both.isSigned(by: key))
    // That of another key does no harm.
    let other = try SignedNote(
      Array("\(lines[0])\n\n\(lines[2])\n\(lines[2].replacing("example.com/foo", with: "example.com/bar"))\n".utf8))
    #expect(other.isSigned(by: key))
  }

  @Test(arguments: [
    "", "\n", "a\n", "a\n\n", "a\n\n\u{2014} b\n", "a\n\n\u{2014} b AAAA\n", "a\n\n- b AAAAAAAA\n", "a\n\n\u{2014} b AAAAAAAA",
    "a\n\n\u{2014}  AAAAAAAA\n", "a\n\n\u{2014} b AAAAAAAA\nmore\n", "a\u{7}\n\n\u{2014} b AAAAAAAA\n", "\n\n\u{2014} b AAAAAAAA\n",
    "a\n\n\u{2014} b c AAAAAAAA\n", "a\n\n\u{2014} b AAAAAAA\n", "a\n\n\u{2014} b+ AAAAAAAA\n",
  ]) func `what is no note is refused`(text: String) {
    #expect(code { _ = try SignedNote(Array(text.utf8)) } == .invalidText)
  }

  @Test(arguments: [
    "", "a\n", "a\n1\n", "a\n01\nAAAA\n", "a\n-1\nAAAA\n", "a\n1\nAAAA\n", "a\n99999999999999999\n" + root + "\n", "a\n1\n" + root,
    "\n1\n" + root + "\n", "a\n1\n" + root + "\n\n", "a\n+1\n" + root + "\n",
  ]) func `what is no checkpoint is refused`(text: String) {
    #expect(code { _ = try Checkpoint(text) } == .invalidText)
  }

  private static let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="

  /// The example of C2SP tlog-checkpoint.
  @Test func `the published checkpoint is read`() throws {
    let text = "example.com/behind-the-sofa\n20852163\n\(Self.root)\n"
    let checkpoint = try Checkpoint(text)
    #expect(checkpoint.origin == "example.com/behind-the-sofa" && checkpoint.head.size == 20_852_163 && checkpoint.text == text)
    #expect(try Checkpoint(text + "an extension line\n") == checkpoint)
  }
}

@Suite struct PolicyTests {
  private let disk = SimulatedDisk()

  /// Six servers without a memory.
  private func servers() throws -> [Countersigner] {
    let keys = try KeyDirectory(at: "/server", disk)
    return try (0..<6).map { try Countersigner(name: "server\($0).example", keys: keys, publicKey: keys.makeKey(), memory: MemoryHeads()) }
  }

  private func signed(_ servers: [Countersigner]) throws -> SignedNote {
    let fixture = try Fixture()
    try fixture.append(3)
    var note = try fixture.evidence.checkpoint()
    let key = try #require(try fixture.evidence.key)
    for server in servers {
      let proof = ConsistencyProof(oldSize: 0, size: try Checkpoint(note.text).head.size, hashes: [])
      note = try server.countersign(note, proof, signedBy: key, at: Timestamp(nanoseconds: 5_000_000_000))
    }
    return note
  }

  /// The example of C2SP tlog-policy, with keys.
  @Test func `groups and quorums count as they are written`() throws {
    let keys = try KeyDirectory(at: "/server", disk)
    let servers = try servers()
    var text = "# a comment\n\n"
    for (index, name) in ["X1", "X2", "X3", "Y1", "Y2", "Y3"].enumerated() {
      text += "witness \(name) \(servers[index].key) https://example\n"
    }
    text += "group X-witnesses 2 X1 X2 X3\ngroup Y-witnesses any Y1 Y2 Y3\n\tgroup X-and-Y all X-witnesses Y-witnesses \nquorum X-and-Y\n"
    let policy = try Policy(text)
    for mask in 0..<64 {
      let isMet = (mask & 7).nonzeroBitCount >= 2 && mask >> 3 != 0
      let signers = try servers.enumerated().filter { mask >> $0.offset & 1 == 1 }.map { _, server in
        try Countersigner(name: server.key.name, keys: keys, publicKey: server.key.publicKey, memory: MemoryHeads())
      }
      #expect(try policy.isMet(by: signed(signers)) == isMet, "\(mask)")
    }
  }

  @Test func `no cosignature that is asked for means that nothing is proven`() throws {
    let none = try Policy("quorum none\n")
    #expect(try !none.asksForCosignatures && !none.isMet(by: signed([])))
  }

  @Test func `what is no policy is refused, with its line`() throws {
    let key = try servers()[0].key
    let device = try VerifierKey(name: "tidemark/a/b", kind: .note, publicKey: key.publicKey)
    for text in [
      "", "witness a \(key)\n", "quorum a\n", "witness a \(key)\nquorum a\nquorum a\n", "witness a \(key)\nwitness a \(key)\nquorum a\n",
      "witness none \(key)\nquorum none\n", "log \(key)\nquorum none\n", "witness a \(device)\nquorum a\n", "group g any a\nquorum g\n",
      "log \(device)\nlog \(device)\nquorum none\n",
      "witness a \(key)\ngroup g 2 a\nquorum g\n", "witness a \(key)\ngroup g 0 a\nquorum g\n",
      "witness a \(key)\ngroup g any a a\nquorum g\n",
      "witness a \(key)\ngroup g any a\ngroup h any a\nquorum h\n", "nonsense\nquorum none\n", "quorum\n", "witness a x+y+z\nquorum a\n",
      "witness a \(key)\ngroup g any none\nquorum g\n",
    ] { #expect(code { _ = try Policy(text) } == .invalidText, "\(text)") }
  }
}
