/// Finds what somebody may have meant.
package enum Suggestion {
  /// The word that is fewest edits away, if it is near enough to be worth naming.
  package static func nearest(to word: String, among words: [String]) -> String? {
    let nearest = words.map { (word: $0, distance: distance(Array(word.utf8), Array($0.utf8))) }.min { $0.distance < $1.distance }
    guard let nearest, nearest.distance <= max(2, word.utf8.count / 3) else { return nil }
    return nearest.word
  }

  /// The number of bytes to insert, remove, replace, or swap with their neighbour.
  static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...right.count)
    for i in 0..<left.count {
      var current = [i + 1]
      for j in 0..<right.count {
        var best = min(previous[j + 1], current[j]) + 1
        best = min(best, previous[j] + (left[i] == right[j] ? 0 : 1))
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] { best = min(best, beforePrevious[j - 1] + 1) }
        current.append(best)
      }
      (beforePrevious, previous) = (previous, current)
    }
    return previous[right.count]
  }
}
