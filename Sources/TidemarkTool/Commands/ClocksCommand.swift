import TidemarkEvidence
import TidemarkLog
import TidemarkText

enum ClocksCommand {
  static let description = CommandDescription(
    "clocks", "list what a log's clocks did that a person should look at",
    arguments: [.log],
    options: [
      .clockPolicy, .policy,
      .init("rule", "RULES", "only these rules, separated by commas"),
      .json,
    ],
    notes: [
      "One line for each flag: offset, rule, explanation. Then a summary: events, the policy's version, flags of each rule. "
        + "The log is only read. A flag is no verdict: the exit code is 0 however many there are, and 4 at damage, behind "
        + "the flags that stand before it.",
      "Rules that need a server's time go by the receipts that count by --policy; without it they are not checked.",
      "Rules: \(ClockRule.allCases.map(\.rawValue).joined(separator: ", ")).",
      "With --json, one object a line: flags with offset, id, rule, informational, policy_version, explanation and facts; at last the "
        + "summary with events, receipts, policy_version, flags of each rule and not_checked.",
    ],
    examples: [
      .init("tidemark clocks captures", "what the clocks did"),
      .init("tidemark clocks captures --rule wall-went-back,wall-stepped", "only where the wall clock was set"),
      .init(
        "tidemark clocks captures --clock-policy strict.json --json | jq -c 'select(.rule == \"reboot\")'", "by thresholds of your own"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let policy = try arguments.clockPolicy
    let rules = try rules(arguments)
    let log = try Log.openForReading(at: arguments.logPath)
    defer { try? log.close() }
    let receipts = try arguments.policy.map { try log.receiptTimes($0) } ?? []
    var report = ClockReport(policy: policy, receipts: receipts, rules: rules, isJSON: arguments.isSet("json"))
    try report.read(log, output)
    report.summarize(to: output)
    return .success
  }

  /// Those asked for; all if none is.
  private static func rules(_ arguments: ParsedArguments) throws -> Set<ClockRule> {
    guard let text = arguments.value("rule") else { return Set(ClockRule.allCases) }
    var rules: Set<ClockRule> = []
    for name in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let rule = ClockRule(rawValue: String(name)) else {
        let names = ClockRule.allCases.map(\.rawValue)
        throw UsageError(
          "--rule \(text)", why: "there is no rule \"\(name)\"",
          advice: Suggestion.nearest(to: String(name), among: names).map { "did you mean \($0)?" } ?? "see `tidemark help clocks`")
      }
      rules.insert(rule)
    }
    return rules
  }
}

/// Prints flags as they come, and counts them.
private struct ClockReport {
  private var review: ClockReview
  private let receiptCount: Int
  private let rules: Set<ClockRule>
  private let isJSON: Bool
  private var eventCount = 0
  private var counts: [ClockRule: Int] = [:]

  /// Without receipts, what needs a server's time is named as not checked.
  init(policy: ClockPolicy, receipts: [ReceiptTime], rules: Set<ClockRule>, isJSON: Bool) {
    review = ClockReview(policy: policy, receipts: receipts)
    receiptCount = receipts.count
    self.rules = rules
    self.isJSON = isJSON
  }

  mutating func read(_ log: Log, _ output: Output) throws {
    var cursor = try log.read(Query(includesControlEvents: true))
    let progress = System.isTerminal(System.standardOutput) ? nil : ProgressDisplay("clocks", barOnly: true)
    defer { progress?.finish() }
    let start = cursor.position
    let end = log.size
    // A copy, because a view would bar the way to the cursor's session.
    while let event = try cursor.next()?.copy() {
      try Interrupt.check()
      eventCount += 1
      for flag in review.review(event.view, session: cursor.session) where rules.contains(flag.rule) {
        counts[flag.rule, default: 0] += 1
        print(flag, to: output)
      }
      try output.flushIfFull()
      progress?.update(done: cursor.position - start, of: max(end, cursor.position) - start, "\(eventCount) events")
    }
  }

  private func print(_ flag: ClockFlag, to output: Output) {
    if !isJSON { return output.line("\(flag.offset)  \(flag.rule.rawValue)  \(flag.explanation)") }
    var json = JSONWriter()
    json.beginObject()
    json.member("offset", flag.offset)
    json.member("id", flag.eventID.description)
    json.member("rule", flag.rule.rawValue)
    json.member("informational", flag.rule.isInformational)
    json.member("policy_version", UInt64(flag.policyVersion))
    json.member("explanation", flag.explanation)
    json.name("facts")
    json.beginObject()
    for fact in flag.facts {
      switch fact.value {
      case .text(let text): json.member(fact.name, text)
      case .number(let number):
        json.name(fact.name)
        json.value(Array(String(number).utf8).span)
      }
    }
    json.endObject()
    json.endObject()
    output.line(json)
  }

  func summarize(to output: Output) {
    let found = ClockRule.allCases.compactMap { rule in counts[rule].map { (rule.rawValue, $0) } }
    let unchecked = receiptCount == 0 ? ClockRule.allCases.filter { $0.needsReceipts && rules.contains($0) }.map(\.rawValue) : []
    if isJSON {
      var json = JSONWriter()
      json.beginObject()
      json.member("events", eventCount)
      json.member("receipts", receiptCount)
      json.member("policy_version", UInt64(review.policy.version))
      json.name("flags")
      json.beginObject()
      for (rule, count) in found { json.member(rule, count) }
      json.endObject()
      json.name("not_checked")
      json.beginArray()
      for rule in unchecked { json.string(rule) }
      json.endArray()
      json.endObject()
      return output.line(json)
    }
    let total = found.reduce(0) { $0 + $1.1 }
    let flags = total == 0 ? "no flags" : "flags \(total): " + found.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    output.line("events \(eventCount), policy version \(review.policy.version), \(flags)")
    if !unchecked.isEmpty { output.line("not checked, because no receipts are at hand: \(unchecked.joined(separator: ", "))") }
  }
}
