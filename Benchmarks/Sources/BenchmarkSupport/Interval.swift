/// The median of some samples, with an interval that holds the true median.
///
/// The bounds are order statistics, two of the samples themselves, so nothing is assumed about how the samples are distributed.
/// Each sample lies below the true median with probability one half; how many do follows the binomial distribution. Of `n` sorted
/// samples, the k-th from either end enclose the true median with probability `1 - 2 P(fewer than k below)`.
///
/// ```swift
/// let interval = Interval(of: ratios)
/// print(interval.median, interval.lower, interval.upper)
/// ```
public struct Interval: Sendable, Equatable {
  public let median: Double
  public let lower: Double
  public let upper: Double
  /// The probability that the bounds enclose the true median. Less than was asked for only if there are too few samples: six is
  /// the least for 95 %.
  public let coverage: Double

  /// Takes the narrowest pair of order statistics that reaches `confidence`, or the extremes where none does.
  ///
  /// - Precondition: `samples` is not empty.
  public init(of samples: [Double], confidence: Double = 0.95) {
    precondition(!samples.isEmpty, "an interval needs samples")
    let sorted = samples.sorted()
    let count = sorted.count
    let rank = Interval.rank(count: count, confidence: confidence)
    median = count.isMultiple(of: 2) ? (sorted[count / 2 - 1] + sorted[count / 2]) / 2 : sorted[count / 2]
    lower = sorted[rank - 1]
    upper = sorted[count - rank]
    coverage = Interval.coverage(count: count, rank: rank)
  }

  /// The highest rank k such that the k-th lowest and the k-th highest of `count` samples reach `confidence`; at least 1.
  static func rank(count: Int, confidence: Double) -> Int {
    var rank = 1
    while rank + 1 <= (count + 1) / 2, coverage(count: count, rank: rank + 1) >= confidence { rank += 1 }
    return rank
  }

  /// The probability that the k-th lowest and the k-th highest of `count` samples enclose the median.
  static func coverage(count: Int, rank: Int) -> Double {
    var term = 1.0
    for _ in 0..<count { term /= 2 }
    var below = 0.0
    for index in 0..<rank {
      below += term
      term *= Double(count - index) / Double(index + 1)
    }
    return max(0, 1 - 2 * below)
  }
}

/// The value below which `fraction` of the samples lie, by the nearest rank: always one of the samples.
///
/// - Precondition: `samples` is not empty and `fraction` lies between 0 and 1.
public func percentile<Sample: Comparable>(_ fraction: Double, of samples: [Sample]) -> Sample {
  precondition(!samples.isEmpty && fraction >= 0 && fraction <= 1)
  let sorted = samples.sorted()
  let rank = Int((fraction * Double(sorted.count)).rounded(.up))
  return sorted[min(max(rank, 1), sorted.count) - 1]
}
