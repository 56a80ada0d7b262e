import Foundation
import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct KeyTests {
  /// RFC 8032, section 7.1, tests 1 to 3.
  @Test(arguments: [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    ),
    (
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    ),
    (
      "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    ),
  ]) func `the published signatures`(seed: String, publicKey: String, message: String, signature: String) throws {
    let keys = try KeyDirectory(at: "/keys", SimulatedDisk())
    let bytes = try #require([UInt8](hexadecimal: message))
    #expect(try keys.keep(#require([UInt8](hexadecimal: seed))).hexadecimal == publicKey)
    #expect(try keys.sign(bytes, publicKey: #require([UInt8](hexadecimal: publicKey))).hexadecimal == signature)
  }

  @Test func `a key file that is gone, cut, or of another key is an error that names it`() throws {
    let disk = SimulatedDisk()
    let keys = try KeyDirectory(at: "/keys", disk)
    let publicKey = try keys.makeKey(), other = try keys.makeKey()
    let path = "/keys/\(publicKey.hexadecimal).key"
    let bytes = try #require(try disk.contents(path))
    for count in bytes.indices {
      try disk.replace(path, with: Array(bytes[..<count]))
      #expect(code { _ = try keys.sign([1], publicKey: publicKey) } == .missingKey)
    }
    try disk.replace(path, with: try #require(try disk.contents("/keys/\(other.hexadecimal).key")))
    #expect(code { _ = try keys.sign([1], publicKey: publicKey) } == .missingKey)
    try keys.removeKey(publicKey: publicKey)
    try keys.removeKey(publicKey: publicKey)
    #expect(code { _ = try keys.sign([1], publicKey: publicKey) } == .missingKey)
    #expect(try keys.publicKeys() == [other])
  }

  @Test func `keys are their owner's alone`() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let publicKey = try KeyDirectory(at: path).makeKey()
    let files = POSIXFileSystem()
    #expect(try files.status(path)?.isPrivate == true)
    let file = "\(path)/\(publicKey.hexadecimal).key"
    #expect(try files.status(file)?.isPrivate == true)
    let keys = try KeyDirectory(at: path)
    for permissions in [0o640, 0o604, 0o620] {
      try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file)
      #expect(code { _ = try keys.sign([1], publicKey: publicKey) } == .keysNotPrivate)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    #expect(throws: Never.self) { try keys.sign([1], publicKey: publicKey) }
  }
}
