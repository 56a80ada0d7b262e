internal import TidemarkEvidence
internal import TidemarkLog

/// Codes and tokens: random, given out once, and kept as their digest only.
enum Secret {
  static let access = "tma_"
  static let refresh = "tmr_"
  static let office = "tmo_"
  static let operatorToken = "tmp_"

  /// 256 random bits in hexadecimal, behind what kind of token it is.
  static func token(_ kind: String, _ random: any RandomSource) -> String {
    kind + (0..<2).map { _ in EventID(high: random.next(), low: random.next()).hexadecimal }.joined()
  }

  /// 80 random bits as people can type them: four groups of four letters and digits, none of which look alike.
  static func code(_ random: any RandomSource) -> String {
    let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    let bits = [random.next(), random.next()]
    let characters = (0..<16).map { alphabet[Int(bits[$0 / 8] >> UInt64($0 % 8 * 5) & 31)] }
    let groups = stride(from: 0, to: 16, by: 4).map { String(decoding: characters[$0..<$0 + 4], as: UTF8.self) }
    return groups.joined(separator: "-")
  }

  /// As it is kept. Of a code, whatever case and dashes it was typed with.
  static func digest(_ secret: String) -> [UInt8] { SHA256().hash(Array(secret.utf8)).bytes }
  static func digest(code: String) -> [UInt8] {
    let typed = code.uppercased().filter { $0 != "-" && $0 != " " }
    return digest(typed.replacing("O", with: "0").replacing("I", with: "1").replacing("L", with: "1"))
  }
}
