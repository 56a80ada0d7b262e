import Testing

import TidemarkText

@Suite("Base64")
struct Base64Tests {
  func encode(_ bytes: [UInt8]) -> String {
    var output: [UInt8] = []
    Base64.encode(bytes.span, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  @Test(
    "follows the examples of RFC 4648",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
  func examples(_ text: String, _ base64: String) throws {
    #expect(encode(Array(text.utf8)) == base64)
    #expect(try decodeBase64(base64) == Array(text.utf8))
  }

  @Test("comes back as it was, for every byte at every place")
  func roundTrip() throws {
    for length in 0..<9 {
      for value in UInt8.min...UInt8.max {
        let bytes = (0..<length).map { value &+ UInt8(truncatingIfNeeded: $0 * 37) }
        #expect(try decodeBase64(encode(bytes)) == bytes)
      }
    }
  }

  @Test(
    "is refused where it is not exact",
    arguments: ["Zg", "Zg=", "Z===", "Zm9v=", "Zh==", "Zm9=", "Zm 9v", "Zm-_", "====", "Zg==Zg==", "Z=g="])
  func refuses(_ text: String) {
    #expect(throws: TextError.self) { try decodeBase64(text) }
  }
}
