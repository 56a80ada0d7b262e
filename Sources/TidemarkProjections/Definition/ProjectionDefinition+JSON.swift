internal import TidemarkLog
internal import TidemarkText

extension ProjectionDefinition {
  /// Reads a definition.
  ///
  /// - Parameters:
  ///   - json: the file's contents, at most 64 KiB.
  ///   - file: its path, for errors.
  ///   - zones: where the time zone of a window is looked up.
  ///
  /// Throws `LogError.Code.invalidArgument` with the position of what is wrong: text that is no JSON, a member that is unknown, missing,
  /// twice there or of the wrong kind, members that do not go together. Throws what ``TimeZoneDatabase/zone(named:)`` does.
  public init(json: [UInt8], file: String? = nil, zones: TimeZoneDatabase = .system) throws {
    func refuse(_ why: String, at position: Int = 0) -> LogError {
      LogError(
        .invalidArgument, "the definition of a projection can't be used", file: file, position: UInt64(position), why: why,
        advice: "correct it; Specs/projection.schema.json says what it may hold")
    }
    if json.count > 64 << 10 { throw refuse("it has \(json.count) bytes, and 65536 are the most") }
    let zoneName: String?
    do { (self, zoneName) = try Self.parse(json) } catch { throw refuse(error.why, at: error.position) }
    if let zoneName, let unit = window?.unit { window = TimeWindow(unit, in: .named(try zones.zone(named: zoneName))) }
  }

  /// The definition, and the name of the zone if that is to be looked up.
  private static func parse(_ json: [UInt8]) throws(TextError) -> (ProjectionDefinition, String?) {
    var scanner = JSONScanner()
    let reader = try MemberReader(json, try scanner.scan(json.span), names, "it is no JSON object")
    let window = try reader.has("window") ? reader.object("window", windowNames) : nil
    let name = try reader.string("name")
    let key = try window == nil || reader.has("key") ? reader.fields("key") : []
    var definition = ProjectionDefinition(name: name, key: key, fold: try reader.word("fold"), time: nil)
    definition.types = try reader.has("types") ? reader.strings("types") : []
    definition.value = try reader.field("value")
    definition.time = try reader.field("time")
    definition.skipsAbsent = try reader.has("absent") ? reader.choice("absent", ["skip", "unreadable"]) == "skip" : false
    definition.place = try reader.field("place")
    definition.itemVersion = try reader.field("version")
    definition.material = try reader.field("material")
    if reader.has("roles") { definition.roles = try reader.roles("roles") }
    if reader.has("per") { definition.subject = try reader.word("per") }
    if reader.has("digits") { definition.digits = try reader.number("digits", upTo: 100) }
    let zoneName = try window.flatMap { (window) throws(TextError) in try definition.setWindow(window) }
    try definition.check(reader)
    return (definition, zoneName)
  }

  /// Gives the zone's name if it is to be looked up.
  private mutating func setWindow(_ reader: MemberReader) throws(TextError) -> String? {
    let unit = TimeWindow.Unit(rawValue: try reader.choice("unit", TimeWindow.Unit.allCases.map(\.rawValue))) ?? .day
    let zone = try reader.string("zone")
    windowTime = try reader.field("time")
    window = TimeWindow(unit, in: zone == "@offset" ? .stated : .utc)
    if zone == "UTC" { return nil }
    if zone == "@offset" {
      if windowTime == nil { throw reader.wrong("zone", "needs a \"time\" beside it, whose offset from UTC is meant") }
      return nil
    }
    guard TimeZoneDatabase.isZoneName(zone) else { throw reader.wrong("zone", "is no name of a time zone, such as \"Europe/Oslo\"") }
    return zone
  }

  private static let names: Set<String> = [
    "name", "types", "key", "value", "fold", "time", "window", "absent", "digits", "roles", "place", "version", "material", "per",
  ]
  private static let windowNames: Set<String> = ["unit", "zone", "time"]

  /// Members that do not go together.
  private func check(_ reader: MemberReader) throws(TextError) {
    if !isName(name) {
      throw reader.wrong("name", "is no name: 1 to 64 of a to z, 0 to 9, \"-\", \"_\" and \".\", and no \".\" first")
    }
    switch fold {
    case .presence, .acknowledgements: try checkRoles(reader)
    case .count:
      if value != nil { throw reader.wrong("value", "goes with another fold: a count has none") }
    case .sum, .average, .minimum, .maximum:
      if value == nil { throw TextError(at: 0, "the member \"value\" is missing, and a \(fold.rawValue) needs one") }
    case .latest: break
    }
    if !fold.hasRoles, let name = ["roles", "place", "version", "material", "per"].first(where: { reader.has($0) }) {
      throw reader.wrong(name, "goes with the folds \"presence\" and \"acknowledgements\" only")
    }
    if time != nil && fold != .latest { throw reader.wrong("time", "goes with the fold \"latest\" only") }
    if reader.has("digits") && fold != .average { throw reader.wrong("digits", "goes with the fold \"average\" only") }
    if key.count > 61 { throw reader.wrong("key", "has too many parts: 61 are the most") }
  }

  private func checkRoles(_ reader: MemberReader) throws(TextError) {
    let isPresence = fold == .presence
    if roles.isEmpty { throw TextError(at: 0, "the member \"roles\" is missing or empty, and \(fold.rawValue) needs it") }
    let fitting: Set<Role> = isPresence ? [.enter, .leave] : [.publish, .withdraw, .ask, .acknowledge]
    if let role = roles.values.first(where: { !fitting.contains($0) }) {
      throw reader.wrong("roles", "has \"\(role.rawValue)\", which does not go with the fold \"\(fold.rawValue)\"")
    }
    if key.count != (isPresence ? 1 : 2) {
      throw reader.wrong("key", isPresence ? "names one part here: the person" : "names two parts here: the item and the person")
    }
    if isPresence, place == nil { throw TextError(at: 0, "the member \"place\" is missing, and presence needs one") }
    if !isPresence, itemVersion == nil { throw TextError(at: 0, "the member \"version\" is missing, and acknowledgements need one") }
    let others = ["types", "value", "window", "absent"] + (isPresence ? ["version", "material"] : [])
    if let name = others.first(where: { reader.has($0) }) {
      throw reader.wrong(name, "does not go with the fold \"\(fold.rawValue)\"")
    }
  }
}

extension ProjectionDefinition.Fold {
  /// Whether it goes by what events of each type say.
  var hasRoles: Bool { self == .presence || self == .acknowledgements }
}

/// The members of a definition, each read as what it must be.
private struct MemberReader {
  let json: [UInt8]
  let members: [String: Range<Int>]

  /// - Parameter other: why, if it is no object.
  init(_ json: [UInt8], _ object: Range<Int>, _ names: Set<String>, _ other: String) throws(TextError) {
    guard json[object.lowerBound] == UInt8(ascii: "{") else { throw TextError(at: object.lowerBound, other) }
    var members: [String: Range<Int>] = [:]
    try JSONScanner.forEachMember(of: object, in: json.span) { (name, value) throws(TextError) in
      let text = try JSONString.decode(json.span, name)
      guard names.contains(text) else { throw TextError(at: name.lowerBound, "there is no member \"\(text)\"") }
      if members.updateValue(value, forKey: text) != nil { throw TextError(at: name.lowerBound, "the member \"\(text)\" is there twice") }
    }
    self.json = json
    self.members = members
  }

  func object(_ name: String, _ names: Set<String>) throws(TextError) -> MemberReader {
    try MemberReader(json, try range(name), names, "the member \"\(name)\" is an object")
  }

  func has(_ name: String) -> Bool { members[name] != nil }

  func wrong(_ name: String, _ what: String) -> TextError {
    TextError(at: members[name]?.lowerBound ?? 0, "the member \"\(name)\" \(what)")
  }

  private func range(_ name: String) throws(TextError) -> Range<Int> {
    guard let range = members[name] else { throw TextError(at: 0, "the member \"\(name)\" is missing") }
    return range
  }

  private func string(_ range: Range<Int>, _ name: String) throws(TextError) -> String {
    guard json[range.lowerBound] == UInt8(ascii: "\"") else { throw TextError(at: range.lowerBound, "\"\(name)\" takes a string here") }
    return try JSONString.decode(json.span, range)
  }

  func string(_ name: String) throws(TextError) -> String { try string(try range(name), name) }

  func choice(_ name: String, _ choices: [String]) throws(TextError) -> String {
    let text = try string(name)
    guard choices.contains(text) else { throw wrong(name, "is one of \(choices.map { "\"\($0)\"" }.joined(separator: ", "))") }
    return text
  }

  /// One of a few words.
  func word<Word: RawRepresentable<String> & CaseIterable>(_ name: String) throws(TextError) -> Word {
    let text = try choice(name, Word.allCases.map(\.rawValue))
    guard let word = Word(rawValue: text) else { throw wrong(name, "is unknown") }
    return word
  }

  /// An object of types and what events of them say.
  func roles(_ name: String) throws(TextError) -> [String: ProjectionDefinition.Role] {
    let range = try range(name)
    guard json[range.lowerBound] == UInt8(ascii: "{") else { throw wrong(name, "is an object: types, and what events of them say") }
    var roles: [String: ProjectionDefinition.Role] = [:]
    try JSONScanner.forEachMember(of: range, in: json.span) { (type, value) throws(TextError) in
      let text = try JSONString.decode(json.span, type)
      guard let role = ProjectionDefinition.Role(rawValue: try string(value, name)) else {
        let all = ProjectionDefinition.Role.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        throw TextError(at: value.lowerBound, "a role is one of \(all)")
      }
      if roles.updateValue(role, forKey: text) != nil { throw TextError(at: type.lowerBound, "the type \"\(text)\" is there twice") }
    }
    return roles
  }

  func number(_ name: String, upTo most: Int) throws(TextError) -> Int {
    let range = try range(name)
    guard let number = Int(String(decoding: json[range], as: UTF8.self)), (0...most).contains(number) else {
      throw wrong(name, "is a whole number from 0 to \(most)")
    }
    return number
  }

  private func elements(_ name: String) throws(TextError) -> [Range<Int>] {
    let range = try range(name)
    guard json[range.lowerBound] == UInt8(ascii: "[") else { throw wrong(name, "is an array of strings") }
    var elements: [Range<Int>] = []
    var at = range.lowerBound + 1
    // The array was scanned: strings are found by their quotes, and nothing else may stand in it.
    while at < range.upperBound - 1 {
      let byte = json[at]
      if byte == UInt8(ascii: "\"") {
        let start = at
        at += 1
        while json[at] != UInt8(ascii: "\"") { at += json[at] == UInt8(ascii: "\\") ? 2 : 1 }
        at += 1
        elements.append(start..<at)
      } else if byte == UInt8(ascii: ",") || byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
        at += 1
      } else {
        throw TextError(at: at, "\"\(name)\" takes only strings")
      }
    }
    return elements
  }

  func strings(_ name: String) throws(TextError) -> [String] {
    var strings: [String] = []
    for range in try elements(name) { strings.append(try string(range, name)) }
    return strings
  }

  func fields(_ name: String) throws(TextError) -> [EventField] {
    var fields: [EventField] = []
    for range in try elements(name) { fields.append(try field(range, name)) }
    if fields.isEmpty { throw wrong(name, "has no part") }
    return fields
  }

  /// Nil if there is no such member.
  func field(_ name: String) throws(TextError) -> EventField? {
    guard let range = members[name] else { return nil }
    return try field(range, name)
  }

  private func field(_ range: Range<Int>, _ name: String) throws(TextError) -> EventField {
    let text = try string(range, name)
    guard let field = EventField(text) else {
      throw TextError(at: range.lowerBound, "\"\(text)\" is neither @type, @subject, @actor nor a JSON Pointer, which begins with \"/\"")
    }
    return field
  }
}
