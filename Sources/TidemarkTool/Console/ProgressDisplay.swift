/// Shows how far long work has come: after a second a bar where standard error is a terminal, else a line every few seconds.
final class ProgressDisplay {
  private let label: String
  private let isTerminal: Bool
  private let isShown: Bool
  private let start: UInt64
  private var next: UInt64
  private var hasBar = false
  private static let firstDelay: UInt64 = 1_000_000_000
  private static let barDelay: UInt64 = 100_000_000
  private static let lineDelay: UInt64 = 5_000_000_000
  private static let barWidth = 30

  /// - Parameter barOnly: whether to be silent where no bar can be shown.
  init(_ label: String, barOnly: Bool = false) {
    self.label = label
    isTerminal = System.isTerminal(System.standardError)
    isShown = isTerminal || !barOnly
    start = System.monotonicNanoseconds()
    next = start + Self.firstDelay
  }

  /// Call it as often as you like. `text` says what was done, such as `120000 events`.
  func update(done: UInt64, of total: UInt64?, _ text: @autoclosure () -> String) {
    guard isShown else { return }
    let now = System.monotonicNanoseconds()
    guard now >= next else { return }
    next = now + (isTerminal ? Self.barDelay : Self.lineDelay)
    var parts: [String] = []
    if let total, total > 0 {
      let part = min(1, Double(done) / Double(total))
      if isTerminal {
        let filled = Int(part * Double(Self.barWidth))
        parts.append("[" + String(repeating: "#", count: filled) + String(repeating: "-", count: Self.barWidth - filled) + "]")
      }
      parts.append("\(Int(part * 100)) %")
    }
    parts.append(text())
    parts.append("\((now - start) / 1_000_000_000) s")
    if isTerminal {
      write("\r\(label) \(parts.joined(separator: "  "))\u{1B}[K")
      hasBar = true
    } else {
      write("\(label): \(parts.joined(separator: ", "))\n")
    }
  }

  /// Takes the bar away.
  func finish() {
    if hasBar { write("\r\u{1B}[K") }
    hasBar = false
  }

  private func write(_ text: String) {
    try? System.writeAll(System.standardError, Array(text.utf8))
  }
}
