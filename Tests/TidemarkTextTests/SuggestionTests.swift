import Testing

import TidemarkText

@Suite("Suggestions")
struct SuggestionTests {
  @Test("names the nearest word, and none when all are far")
  func nearest() {
    let words = ["--id-from", "--subject-from", "--format", "--batch"]
    #expect(Suggestion.nearest(to: "--formt", among: words) == "--format")
    #expect(Suggestion.nearest(to: "--id-form", among: words) == "--id-from")
    #expect(Suggestion.nearest(to: "--bathc", among: words) == "--batch")
    #expect(Suggestion.nearest(to: "--colour-everything", among: words) == nil)
    #expect(Suggestion.nearest(to: "tirm", among: ["tip", "trim"]) == "trim")
    #expect(Suggestion.nearest(to: "", among: []) == nil)
  }
}
