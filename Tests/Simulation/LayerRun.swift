import Synchronization
import TestSupport

/// Runs the pieces of one layer on several threads until a bound is reached or an invariant is broken.
struct LayerRun: Sendable {
  /// Where to stop.
  struct Bounds: Sendable {
    /// Pieces from this number on, up to that one.
    var firstPiece = 0
    var endPiece: Int?
    var states: Int?
    var seconds: Double?
  }

  /// What came of it.
  struct Result: Sendable {
    var states = 0
    var pieces = 0
    var counts: [String: Int] = [:]
    var seconds = 0.0
    /// The first broken invariant, and the number of the piece that found it. An error that is no violation breaks none by name.
    var broken: (number: Int, invariant: String?, message: String)?
  }

  let layer: any Layer
  let bounds: Bounds
  let workers: Int

  func run() async -> Result {
    let desk = Desk(bounds, count: layer.count)
    var result = Result()
    await withTaskGroup(of: Result.self) { group in
      for _ in 0..<workers { group.addTask { work(desk) } }
      for await part in group { result.add(part) }
    }
    result.seconds = desk.seconds
    return result
  }

  private func work(_ desk: Desk) -> Result {
    var result = Result()
    while result.broken == nil, let number = desk.next() {
      var piece = Piece()
      do { try layer.run(number, into: &piece) } catch {
        result.broken = (number, (error as? Violation)?.invariant.rawValue, "\(error)")
      }
      result.pieces += 1
      result.states += piece.states
      result.counts.merge(piece.counts, uniquingKeysWith: +)
      desk.finish(piece, isBroken: result.broken != nil)
    }
    return result
  }

  /// Hands pieces out to the threads, until there are no more to do.
  private final class Desk: Sendable {
    private let bounds: Bounds
    private let count: Int
    private let start = ContinuousClock().now
    private let number: Atomic<Int>
    private let states = Atomic<Int>(0)
    private let isBroken = Atomic<Bool>(false)

    init(_ bounds: Bounds, count: Int?) {
      self.bounds = bounds
      self.count = min(count ?? .max, bounds.endPiece ?? .max)
      number = Atomic(bounds.firstPiece)
    }

    var seconds: Double {
      let parts = start.duration(to: ContinuousClock().now).components
      return Double(parts.seconds) + Double(parts.attoseconds) / 1e18
    }

    func next() -> Int? {
      if isBroken.load(ordering: .relaxed) { return nil }
      if let most = bounds.states, states.load(ordering: .relaxed) >= most { return nil }
      if let most = bounds.seconds, seconds >= most { return nil }
      let number = number.wrappingAdd(1, ordering: .relaxed).oldValue
      return number < count ? number : nil
    }

    func finish(_ piece: Piece, isBroken: Bool) {
      states.wrappingAdd(piece.states, ordering: .relaxed)
      if isBroken { self.isBroken.store(true, ordering: .relaxed) }
    }
  }

  /// Runs one piece and tells what it does. Nil if nothing was broken.
  func tell(_ number: Int) -> (lines: [String], states: Int, broken: String?) {
    var piece = Piece(trace: [])
    do {
      try layer.run(number, into: &piece)
      return (piece.trace ?? [], piece.states, nil)
    } catch {
      return (piece.trace ?? [], piece.states, "\(error)")
    }
  }
}

extension LayerRun.Result {
  mutating func add(_ part: Self) {
    states += part.states
    pieces += part.pieces
    counts.merge(part.counts, uniquingKeysWith: +)
    if let found = part.broken, broken.map({ found.number < $0.number }) ?? true { broken = found }
  }

  /// The line that machines read.
  func line(_ layer: any Layer, seed: UInt64) -> String {
    let rate = seconds > 0 ? Int(Double(states) / seconds * 60) : 0
    var line = "layer=\(type(of: layer).name) states=\(states) violations=\(broken == nil ? 0 : 1) seed=\(seed) rate=\(rate)/min"
    line += " seconds=\((seconds * 10).rounded() / 10) workloads=\(pieces)"
    for (name, count) in counts.sorted(by: { $0.key < $1.key }) { line += " \(name)=\(count)" }
    return layer.notes.isEmpty ? line : "\(line) \(layer.notes)"
  }
}
