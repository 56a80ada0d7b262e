import TestSupport

/// One way of looking for broken promises: pieces of work that follow from a seed and a number, so that each can be run again alone.
protocol Layer: Sendable {
  /// As in the line that is printed.
  static var name: String { get }
  /// How many pieces there are; nil: as many as wanted.
  var count: Int? { get }
  func run(_ number: Int, into piece: inout Piece) throws
  /// What the closing line adds, such as bounds.
  var notes: String { get }
}

extension Layer {
  var count: Int? { nil }
  var notes: String { "" }
}

/// What one piece of work did.
struct Piece {
  var states = 0
  /// Counts that a layer adds up under names of its own.
  var counts: [String: Int] = [:]
  /// Set to an array if the piece is to tell what it does.
  var trace: [String]?

  mutating func note(_ text: @autoclosure () -> String) {
    if trace != nil { trace?.append(text()) }
  }
}
