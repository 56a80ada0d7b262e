/// Wrong use of a command.
package struct UsageError: Error, Equatable, Sendable {
  /// What is the matter.
  package var what: String
  package var why: String
  package var advice: String

  package init(_ what: String, why: String, advice: String) {
    self.what = what
    self.why = why
    self.advice = advice
  }
}

/// The arguments of a command, checked against its description.
package struct ParsedArguments: Sendable {
  let command: CommandDescription
  private var positionals: [String] = []
  private var values: [String: [String]] = [:]
  private var switches: Set<String> = []

  /// Parses what stands behind the command's name. `--help`, and `-h`, are known to every command. `--` ends the options.
  package init(_ words: [String], for command: CommandDescription) throws(UsageError) {
    self.command = command
    var index = 0
    var optionsEnded = false
    while index < words.count {
      let word = words[index]
      index += 1
      if optionsEnded || word == "-" || !word.hasPrefix("-") {
        positionals.append(word)
      } else if word == "--" {
        optionsEnded = true
      } else if word == "--help" || word == "-h" {
        switches.insert("help")
      } else {
        try option(word, words, &index)
      }
    }
    if !isSet("help") { try checkPositionals() }
  }

  package func isSet(_ name: String) -> Bool { switches.contains(name) }

  package func value(_ name: String) -> String? { values[name]?.last }

  /// All values of an option that may be given more than once, in order.
  package func values(_ name: String) -> [String] { values[name] ?? [] }

  /// The argument of that name in the description.
  package func argument(_ name: String) -> String? {
    guard let index = command.arguments.firstIndex(where: { $0.name == name }), index < positionals.count else { return nil }
    return positionals[index]
  }

  /// All that stand in the place of the last argument, which is repeatable.
  package var repeatedArguments: [String] { Array(positionals.dropFirst(command.arguments.count - 1)) }

  /// A whole number in decimal digits.
  package func number(_ name: String, in range: ClosedRange<UInt64> = 0...UInt64.max) throws(UsageError) -> UInt64? {
    guard let text = value(name) else { return nil }
    guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }), let number = UInt64(text), range.contains(number)
    else {
      let limits = range.upperBound == .max ? "of \(range.lowerBound) or more" : "from \(range.lowerBound) to \(range.upperBound)"
      throw error("--\(name) \(text)", why: "not a whole number \(limits)")
    }
    return number
  }

  /// An error about an option of this command.
  package func error(_ what: String, why: String) -> UsageError {
    UsageError(what, why: why, advice: "see `tidemark help \(command.name)`")
  }

  private mutating func option(_ word: String, _ words: [String], _ index: inout Int) throws(UsageError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts[0].hasPrefix("--") ? String(parts[0].dropFirst(2)) : ""
    guard let option = command.options.first(where: { $0.name == name }) else {
      let names = command.options.map { "--\($0.name)" } + ["--help"]
      let advice = Suggestion.nearest(to: String(parts[0]), among: names).map { "did you mean \($0)?" }
      throw UsageError(
        "unknown option \(parts[0])", why: "`\(command.name)` does not have it", advice: advice ?? "see `tidemark help \(command.name)`")
    }
    guard values[name] == nil || option.isRepeatable, !switches.contains(name) else { throw error("--\(name)", why: "it is given twice") }
    guard option.value != nil else {
      if parts.count > 1 { throw error("--\(name)", why: "it takes no value") }
      switches.insert(name)
      return
    }
    var value = parts.count > 1 ? String(parts[1]) : ""
    if parts.count == 1 {
      guard index < words.count, !words[index].hasPrefix("--") else { throw error("--\(name)", why: "it needs a value") }
      value = words[index]
      index += 1
    }
    if !option.choices.isEmpty, !option.choices.contains(value) {
      let advice = Suggestion.nearest(to: value, among: option.choices).map { "did you mean \($0)?" }
      throw UsageError(
        "--\(name) \(value)", why: "it is one of \(option.choices.joined(separator: ", "))",
        advice: advice ?? "see `tidemark help \(command.name)`")
    }
    values[name, default: []].append(value)
  }

  private func checkPositionals() throws(UsageError) {
    if positionals.count < command.arguments.count, !command.arguments[positionals.count].isOptional {
      let missing = command.arguments[positionals.count]
      throw error("\(missing.name) is missing", why: "`\(command.name)` needs \(missing.summary)")
    }
    if positionals.count > command.arguments.count, command.arguments.last?.isRepeatable != true {
      throw error("unexpected argument \(positionals[command.arguments.count])", why: "`\(command.name)` takes no more of them")
    }
  }
}
