public import TidemarkLog
internal import TidemarkText

extension ClockPolicy {
  /// Reads a policy from a file like `Specs/clock-policy.json`.
  ///
  /// All members must be there: what a policy left open would change with the program, and its version would no longer say what it was.
  ///
  /// - Parameters:
  ///   - json: the file's contents, at most 64 KiB.
  ///   - file: its path, for errors.
  ///
  /// Throws `LogError.Code.invalidArgument` with the byte position of what is wrong: text that is no JSON, a member that is unknown,
  /// missing, twice there, of the wrong kind or out of its bounds, a build date after the latest date.
  ///
  /// ```swift
  /// let policy = try ClockPolicy(json: bytes, file: "clock-policy.json")
  /// ```
  public init(json: [UInt8], file: String? = nil) throws(LogError) {
    func refuse(_ why: String, at position: Int = 0) -> LogError {
      LogError(
        .invalidArgument, "the clock policy can't be used", file: file, position: UInt64(position), why: why,
        advice: "correct it; Specs/clocks.md says what it holds, and Specs/clock-policy.json is one to begin with")
    }
    if json.count > 64 << 10 { throw refuse("it has \(json.count) bytes, and 65536 are the most") }
    do throws(TextError) { self = try Self.parse(json) } catch { throw refuse(error.why, at: error.position) }
  }

  private static func parse(_ json: [UInt8]) throws(TextError) -> ClockPolicy {
    let reader = try PolicyReader(json)
    var policy = ClockPolicy.standard
    policy.version = UInt32(try reader.number("version", in: 1...UInt64(UInt32.max)))
    policy.buildDate = try reader.time("build_date")
    policy.latestDate = try reader.time("latest_date")
    policy.wallWentBackNanoseconds = try reader.milliseconds("wall_went_back_ms")
    policy.wallJumpedForwardNanoseconds = try reader.milliseconds("wall_jumped_forward_ms")
    policy.wallStepNanoseconds = try reader.milliseconds("wall_step_ms")
    policy.slewPartsPerMillion = UInt32(try reader.number("slew_ppm", in: 0...1_000_000))
    policy.fixDifferenceNanoseconds = try reader.milliseconds("fix_difference_ms")
    policy.receiptWentBackNanoseconds = try reader.milliseconds("receipt_went_back_ms")
    policy.receiptDifferenceNanoseconds = try reader.milliseconds("receipt_difference_ms")
    policy.elapsedWentBackNanoseconds = try reader.milliseconds("elapsed_went_back_ms")
    policy.claimDifferenceNanoseconds = try reader.milliseconds("claim_difference_ms")
    if policy.buildDate > policy.latestDate { throw reader.wrong("build_date", "is after \"latest_date\"") }
    return policy
  }
}

/// The members of a policy, each read as what it must be.
private struct PolicyReader {
  private let json: [UInt8]
  /// Where the value of each stands.
  private let members: [String: Range<Int>]

  private static let names: Set<String> = [
    "version", "build_date", "latest_date", "wall_went_back_ms", "wall_jumped_forward_ms", "wall_step_ms", "slew_ppm", "fix_difference_ms",
    "receipt_went_back_ms", "receipt_difference_ms", "elapsed_went_back_ms", "claim_difference_ms",
  ]

  init(_ json: [UInt8]) throws(TextError) {
    self.json = json
    var scanner = JSONScanner()
    let object = try scanner.scan(json.span)
    guard json[object.lowerBound] == UInt8(ascii: "{") else { throw TextError(at: object.lowerBound, "it is no JSON object") }
    var members: [String: Range<Int>] = [:]
    try JSONScanner.forEachMember(of: object, in: json.span) { (name, value) throws(TextError) in
      let text = try JSONString.decode(json.span, name)
      guard Self.names.contains(text) else { throw TextError(at: name.lowerBound, "there is no member \"\(text)\"") }
      if members.updateValue(value, forKey: text) != nil { throw TextError(at: name.lowerBound, "the member \"\(text)\" is there twice") }
    }
    self.members = members
  }

  func wrong(_ name: String, _ what: String) -> TextError {
    TextError(at: members[name]?.lowerBound ?? 0, "the member \"\(name)\" \(what)")
  }

  private func value(_ name: String) throws(TextError) -> Range<Int> {
    guard let value = members[name] else { throw TextError(at: 0, "the member \"\(name)\" is missing") }
    return value
  }

  func number(_ name: String, in range: ClosedRange<UInt64>) throws(TextError) -> UInt64 {
    guard let number = UInt64(String(decoding: json[try value(name)], as: UTF8.self)), range.contains(number) else {
      throw wrong(name, "is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// As nanoseconds, up to 292 years of them.
  func milliseconds(_ name: String) throws(TextError) -> UInt64 {
    try number(name, in: 0...UInt64(Int64.max) / 1_000_000) * 1_000_000
  }

  func time(_ name: String) throws(TextError) -> Timestamp {
    let range = try value(name)
    guard json[range.lowerBound] == UInt8(ascii: "\""), let time = try? RFC3339(try JSONString.decode(json.span, range)) else {
      throw wrong(name, "is a time such as \"2026-01-01T00:00:00Z\", in the years 1677 to 2262")
    }
    return Timestamp(nanoseconds: time.nanoseconds)
  }
}
