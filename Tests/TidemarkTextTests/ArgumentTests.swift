import Testing

import TidemarkText

@Suite("Arguments")
struct ArgumentTests {
  static let command = CommandDescription(
    "load", "take things in", arguments: [.init("LOG", "a log"), .init("FILE", "a file", isOptional: true)],
    options: [
      .init("type", "TYPE", "the type"), .init("count", "N", "how many"), .init("json", nil, "for machines"),
      .init("format", choices: ["csv", "lines"], "the form"), .init(repeatable: "also", "FILE", "another"),
    ],
    notes: ["A note."], examples: [.init("tidemark load x", "loads x")])

  func parse(_ words: String...) throws -> ParsedArguments { try ParsedArguments(words, for: Self.command) }

  @Test("options come with a blank or an equals sign, in any place")
  func options() throws {
    let arguments = try parse("--type", "scan", "log", "--count=5", "--json", "in.csv", "--format=csv")
    #expect(arguments.value("type") == "scan")
    #expect(try arguments.number("count") == 5)
    #expect(arguments.isSet("json"))
    #expect(arguments.argument("LOG") == "log")
    #expect(arguments.argument("FILE") == "in.csv")
    #expect(arguments.value("format") == "csv")
    #expect(try parse("log").argument("FILE") == nil)
    #expect(try parse("log", "--type=").value("type") == "")
    #expect(try parse("log", "--type=a=b").value("type") == "a=b")
    #expect(try parse("log", "--type", "-x").value("type") == "-x")
    #expect(try parse("log", "-").argument("FILE") == "-")
    #expect(try parse("--", "--log", "-h").argument("LOG") == "--log")
    #expect(try parse("--help").isSet("help") && parse("-h", "log").isSet("help"))
  }

  @Test("an option that may be repeated keeps its values in order")
  func repeated() throws {
    let arguments = try parse("log", "--also", "b", "--also=a", "--type", "x", "--also", "b")
    #expect(arguments.values("also") == ["b", "a", "b"] && arguments.value("also") == "b" && arguments.values("type") == ["x"])
    #expect(try parse("log").values("also") == [])
  }

  static let mistakes: [([String], String, String)] = [
    ([], "LOG is missing", "see `tidemark help load`"), (["a", "b", "c"], "unexpected argument c", "see `tidemark help load`"),
    (["a", "--tpye", "x"], "unknown option --tpye", "did you mean --type?"),
    (["a", "--jsn"], "unknown option --jsn", "did you mean --json?"), (["a", "-x"], "unknown option -x", "see `tidemark help load`"),
    (["a", "--colour"], "unknown option --colour", "see `tidemark help load`"),
    (["a", "--type"], "--type", "see `tidemark help load`"), (["a", "--type", "--json"], "--type", "see `tidemark help load`"),
    (["a", "--json=yes"], "--json", "see `tidemark help load`"),
    (["a", "--json", "--json"], "--json", "see `tidemark help load`"),
    (["a", "--type", "x", "--type=y"], "--type", "see `tidemark help load`"),
    (["a", "--format", "cvs"], "--format cvs", "did you mean csv?"),
    (["a", "--format", "parquet"], "--format parquet", "see `tidemark help load`"),
  ]

  @Test("wrong use is told with advice", arguments: mistakes)
  func mistake(_ words: [String], _ what: String, _ advice: String) {
    let error = #expect(throws: UsageError.self) { try ParsedArguments(words, for: Self.command) }
    #expect(error?.what == what)
    #expect(error?.advice == advice)
  }

  @Test(
    "numbers are whole, decimal and in their limits",
    arguments: ["", "-1", "+1", "1.5", "x", "0x5", "18446744073709551616", "99999999999999999999", "٣"])
  func numbers(_ text: String) throws {
    let arguments = try parse("log", "--count=\(text)")
    #expect(throws: UsageError.self) { try arguments.number("count") }
  }

  @Test("numbers keep to a range")
  func range() throws {
    #expect(throws: UsageError.self) { try parse("log", "--count=0").number("count", in: 1...10) }
    #expect(throws: UsageError.self) { try parse("log", "--count=11").number("count", in: 1...10) }
    #expect(try parse("log", "--count=10").number("count", in: 1...10) == 10)
    #expect(try parse("log", "--count=18446744073709551615").number("count") == .max)
    #expect(try parse("log").number("count") == nil)
  }

  @Test("help shows usage, options and examples within 100 columns")
  func help() {
    let text = HelpText.of(Self.command)
    #expect(text.hasPrefix("usage: tidemark load LOG [FILE] [options]\n\ntake things in.\n"))
    for part in ["--type TYPE", "--format csv|lines", "--help", "# loads x", "tidemark load x", "A note."] { #expect(text.contains(part)) }
    let long = HelpText.wrap(String(repeating: "word ", count: 100), 100)
    #expect(long.count == 5)
    #expect(HelpText.wrap("aa bb  c", 5) == ["aa bb", "c"] && HelpText.wrap("aa bbb", 5) == ["aa", "bbb"] && HelpText.wrap("", 5) == [])
    #expect(long.allSatisfy { $0.count <= 100 })
    #expect(
      HelpText.table([("--a-rather-long-option-with-a LONG-VALUE", "text"), ("--b", "more")]).first
        == "  --a-rather-long-option-with-a LONG-VALUE")
  }
}
