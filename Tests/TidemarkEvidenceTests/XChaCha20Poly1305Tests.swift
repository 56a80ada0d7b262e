import Testing
import TidemarkEvidence

@Suite struct XChaCha20Poly1305Tests {
  /// Appendix A.3.1 of draft-irtf-cfrg-xchacha-03, "XChaCha: eXtended-nonce ChaCha and AEAD_XChaCha20_Poly1305".
  @Test func publishedValue() throws {
    let message = Array(
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.".utf8)
    let sealed = try #require(
      erasureBytes(
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216"
          + "cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52e"
          + "c0875924c1c7987947deafd8780acf49"))
    let associatedData = try #require(erasureBytes("50515253c0c1c2c3c4c5c6c7"))
    let (key, nonce) = ([UInt8](0x80...0x9F), [UInt8](0x40...0x57))
    #expect(XChaCha20Poly1305.seal(message, associatedData: associatedData, nonce: nonce, key: key) == sealed)
    #expect(XChaCha20Poly1305.open(sealed, associatedData: associatedData, nonce: nonce, key: key) == message)
    #expect(XChaCha20Poly1305.open(sealed, associatedData: [], nonce: nonce, key: key) == nil)
  }

  @Test func `less than a tag is refused, and nothing can be sealed`() throws {
    let (key, nonce) = ([UInt8](0..<32), [UInt8](0..<24))
    for count in 0..<16 {
      #expect(XChaCha20Poly1305.open([UInt8](repeating: 0, count: count), associatedData: [], nonce: nonce, key: key) == nil)
    }
    let sealed = XChaCha20Poly1305.seal([], associatedData: [], nonce: nonce, key: key)
    #expect(sealed.count == 16 && XChaCha20Poly1305.open(sealed, associatedData: [], nonce: nonce, key: key) == [])
  }

  /// What Python's `hashlib.blake2b` gives.
  @Test func `BLAKE2b knows keys, salts and personalisations`() {
    let result = BLAKE2b.keyed(
      Array("abc".utf8), byteCount: 32, key: [UInt8](0..<32), personalisation: "tidemark event 1", salt: visitID(7))
    #expect(result.hexadecimal == "46de76dc5ca6f7a95fd114f441a0e33a5a9fe43355acb3d8113a2348d9c8e467")
    #expect(
      BLAKE2b.keyed([], byteCount: 16, key: [UInt8](0..<32), personalisation: "tidemark actor 1").hexadecimal
        == "bdf4b581fe2e51f0c6800ab9b5bc4518")
  }
}
