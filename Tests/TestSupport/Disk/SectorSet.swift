/// A set of sector numbers, as bits. The first 128, a file of 64 KiB, take no allocation.
package struct SectorSet: Sendable, Equatable {
  private var first: UInt64 = 0
  private var second: UInt64 = 0
  private var more: [UInt64] = []

  package init() {}

  package init(_ sectors: some Sequence<Int>) {
    for sector in sectors { insert(sector) }
  }

  package var wordCount: Int { 2 + more.count }

  /// The bits of sectors `64 * index` to `64 * index + 63`; zero beyond the last word.
  package subscript(word index: Int) -> UInt64 {
    get { index == 0 ? first : index == 1 ? second : index - 2 < more.count ? more[index - 2] : 0 }
    set {
      if index == 0 {
        first = newValue
      } else if index == 1 {
        second = newValue
      } else {
        while more.count <= index - 2 { more.append(0) }
        more[index - 2] = newValue
      }
    }
  }

  package var isEmpty: Bool { first | second == 0 && more.allSatisfy { $0 == 0 } }

  package var count: Int {
    var count = first.nonzeroBitCount + second.nonzeroBitCount
    for word in more { count += word.nonzeroBitCount }
    return count
  }

  package func contains(_ sector: Int) -> Bool { self[word: sector >> 6] >> UInt64(sector & 63) & 1 == 1 }
  package mutating func insert(_ sector: Int) { self[word: sector >> 6] |= 1 << UInt64(sector & 63) }
  package mutating func remove(_ sector: Int) { self[word: sector >> 6] &= ~(1 << UInt64(sector & 63)) }

  package mutating func insert(_ sectors: Range<Int>) { apply(sectors) { $0 | $1 } }
  package mutating func remove(_ sectors: Range<Int>) { apply(sectors) { $0 & ~$1 } }

  @inline(__always)
  private mutating func apply(_ sectors: Range<Int>, _ change: (UInt64, UInt64) -> UInt64) {
    var at = sectors.lowerBound
    while at < sectors.upperBound {
      let word = at >> 6
      let end = min(sectors.upperBound, (word + 1) << 6)
      let bits = (UInt64.max >> UInt64(64 - (end - at))) << UInt64(at & 63)
      self[word: word] = change(self[word: word], bits)
      at = end
    }
  }

  /// The first unbroken run of sectors at or after `start`.
  package func run(from start: Int) -> Range<Int>? {
    guard let lower = next(from: start, inverted: 0) else { return nil }
    return lower..<(next(from: lower, inverted: .max) ?? wordCount << 6)
  }

  private func next(from start: Int, inverted: UInt64) -> Int? {
    var word = start >> 6
    var mask = UInt64.max << UInt64(start & 63)
    while word < wordCount {
      let bits = (self[word: word] ^ inverted) & mask
      if bits != 0 { return word << 6 + bits.trailingZeroBitCount }
      mask = .max
      word += 1
    }
    return nil
  }

  /// The sectors in ascending order.
  package var sectors: [Int] {
    var sectors: [Int] = []
    var at = 0
    while let run = run(from: at) {
      sectors.append(contentsOf: run)
      at = run.upperBound
    }
    return sectors
  }
}
