public import TidemarkLog

/// Finds the time bracket of any event, in a number of steps that grows with the logarithm of the number of receipts.
///
/// ```swift
/// let brackets = TimeBrackets([ReceiptTime(offset: 10, size: 9, time: monday), ReceiptTime(offset: 30, size: 30, time: tuesday)])
/// brackets.bracket(of: 20)                // appended after Monday's receipt and before Tuesday's
/// ```
public struct TimeBrackets: Sendable {
  /// By offset.
  let receipts: [ReceiptTime]
  /// For each receipt the largest size up to it. Sizes rise in a sound log; where they do not, the first that covers an event still counts.
  private let largestSizes: [Offset]

  /// Takes the receipts of a log, in any order.
  public init(_ receipts: [ReceiptTime] = []) {
    self.receipts = receipts.sorted { $0.offset < $1.offset }
    var largest: Offset = 0
    largestSizes = self.receipts.map {
      largest = max(largest, $0.size)
      return largest
    }
  }

  /// The bracket of the event at an offset.
  public func bracket(of offset: Offset) -> TimeBracket {
    if receipts.isEmpty { return TimeBracket() }
    let before = Self.firstIndex(in: receipts.indices) { receipts[$0].offset >= offset }
    let covering = Self.firstIndex(in: receipts.indices) { largestSizes[$0] > offset }
    return TimeBracket(
      lower: before > 0 ? receipts[before - 1].time : nil, upper: covering < receipts.count ? receipts[covering].time : nil)
  }

  /// The receipt whose record lies at an offset, and the one before it.
  func receipt(at offset: Offset) -> (receipt: ReceiptTime, previous: ReceiptTime?)? {
    let index = Self.firstIndex(in: receipts.indices) { receipts[$0].offset >= offset }
    guard index < receipts.count, receipts[index].offset == offset else { return nil }
    return (receipts[index], index > 0 ? receipts[index - 1] : nil)
  }

  /// The first index for which a condition holds that holds from there on; else the end.
  private static func firstIndex(in range: Range<Int>, where holds: (Int) -> Bool) -> Int {
    var (low, high) = (range.lowerBound, range.upperBound)
    while low < high {
      let middle = (low + high) / 2
      if holds(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
