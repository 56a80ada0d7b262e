internal import TidemarkText

/// A small writer of plots: axes, points, bars, a legend. What it writes stands by itself.
struct Plot {
  /// From which numbers an axis gets its ends.
  enum Scale { case linear, logarithmic }

  struct Series {
    var name: String
    var color: String
    var points: [(x: Double, y: Double)]
    var isLine = false
    /// A word beside each point.
    var labels: [String] = []
  }

  var title: String
  var xTitle: String
  var yTitle: String
  var xScale = Scale.linear
  var yScale = Scale.linear
  var series: [Series]
  /// Names of places on the vertical axis, instead of numbers.
  var yNames: [String] = []

  static let colors = ["#1769aa", "#b3541e", "#2e7d32", "#7b1fa2", "#8d6e00", "#00838f", "#c2185b", "#455a64", "#5d4037", "#3949ab"]
  private static let (width, height) = (860.0, 360.0)
  private static let (left, right, top, bottom) = (110.0, 20.0, 40.0, 56.0)

  var svg: String {
    let all = series.flatMap(\.points)
    let x = Axis(all.map(\.x), xScale, from: Self.left, to: Self.width - Self.right)
    let y =
      yNames.isEmpty
      ? Axis(all.map(\.y), yScale, from: Self.height - Self.bottom, to: Self.top)
      : Axis(names: yNames.count, from: Self.height - Self.bottom, to: Self.top)
    var parts = ["<svg viewBox=\"0 0 \(Int(Self.width)) \(Int(Self.height))\" role=\"img\" aria-label=\"\(HTML.escaped(title))\">"]
    parts.append(text(Self.left, 20, title, "plot-title"))
    parts.append(line(Self.left, Self.height - Self.bottom, Self.width - Self.right, Self.height - Self.bottom, "axis"))
    parts.append(line(Self.left, Self.top, Self.left, Self.height - Self.bottom, "axis"))
    for tick in x.ticks {
      let at = x.place(tick)
      parts.append(line(at, Self.top, at, Self.height - Self.bottom, "grid"))
      parts.append(text(at, Self.height - Self.bottom + 14, Self.short(tick), "tick", anchor: "middle"))
    }
    for (index, tick) in y.ticks.enumerated() {
      let at = y.place(tick)
      parts.append(line(Self.left, at, Self.width - Self.right, at, "grid"))
      parts.append(text(Self.left - 8, at + 4, yNames.isEmpty ? Self.short(tick) : yNames[index], "tick", anchor: "end"))
    }
    parts.append(text((Self.left + Self.width) / 2, Self.height - 20, xTitle, "axis-title", anchor: "middle"))
    if yNames.isEmpty {
      parts.append(
        "<text class=\"axis-title\" text-anchor=\"middle\" transform=\"translate(16 \(Int(Self.height / 2))) rotate(-90)\">"
          + "\(HTML.escaped(yTitle))</text>"
      )
    }
    for item in series { parts += marks(item, x, y) }
    parts += legend()
    parts.append("</svg>")
    return parts.joined(separator: "\n")
  }

  private func marks(_ item: Series, _ x: Axis, _ y: Axis) -> [String] {
    var parts: [String] = []
    let places = item.points.map { (x.place($0.x), y.place($0.y)) }
    if item.isLine, places.count > 1 {
      let path = places.map { "\(Self.digits($0.0)),\(Self.digits($0.1))" }.joined(separator: " ")
      parts.append("<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(item.color)\" stroke-width=\"1.5\"/>")
    }
    let radius = item.labels.isEmpty ? "2.6" : "5"
    for (index, place) in places.enumerated() {
      parts.append(
        "<circle cx=\"\(Self.digits(place.0))\" cy=\"\(Self.digits(place.1))\" r=\"\(radius)\" fill=\"\(item.color)\"/>"
      )
      if index < item.labels.count {
        let isRight = place.0 > Self.width * 0.7
        parts.append(text(place.0 + (isRight ? -9 : 9), place.1 + 4, item.labels[index], "label", anchor: isRight ? "end" : "start"))
      }
    }
    return parts
  }

  private func legend() -> [String] {
    guard series.count > 1, series.allSatisfy({ $0.labels.isEmpty }) else { return [] }
    var parts: [String] = []
    var at = Self.left
    for item in series {
      parts.append("<circle cx=\"\(Self.digits(at + 4))\" cy=\"\(Int(Self.height) - 6)\" r=\"4\" fill=\"\(item.color)\"/>")
      parts.append(text(at + 12, Self.height - 2, item.name, "label"))
      at += 24 + Double(item.name.count) * 6.4
    }
    return parts
  }

  private func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ kind: String) -> String {
    "<line class=\"\(kind)\" x1=\"\(Self.digits(x1))\" y1=\"\(Self.digits(y1))\" x2=\"\(Self.digits(x2))\" y2=\"\(Self.digits(y2))\"/>"
  }

  private func text(_ x: Double, _ y: Double, _ text: String, _ kind: String, anchor: String = "start") -> String {
    "<text class=\"\(kind)\" x=\"\(Self.digits(x))\" y=\"\(Self.digits(y))\" text-anchor=\"\(anchor)\">\(HTML.escaped(text))</text>"
  }

  private static func digits(_ value: Double) -> String { Decimal.text(value, digits: 1) }

  /// 1500000 as 1.5M.
  static func short(_ value: Double) -> String {
    for (size, letter) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] where abs(value) >= size {
      let scaled = value / size
      return Decimal.text(scaled, digits: scaled == scaled.rounded() ? 0 : 1) + letter
    }
    return Decimal.text(value, digits: value == value.rounded() ? 0 : value < 0.1 ? 3 : 1)
  }
}

/// Where numbers stand on one side of a plot.
struct Axis {
  let ticks: [Double]
  private let low: Double
  private let high: Double
  private let from: Double
  private let to: Double
  private let isLogarithmic: Bool

  init(_ values: [Double], _ scale: Plot.Scale, from: Double, to: Double) {
    self.from = from
    self.to = to
    isLogarithmic = scale == .logarithmic
    if scale == .logarithmic {
      let positive = values.filter { $0 > 0 }
      let first = Self.powerOfTen(below: positive.min() ?? 1)
      var last = first * 10
      while last < positive.max() ?? 10 { last *= 10 }
      (low, high) = (first, last)
      var ticks = [first]
      while let end = ticks.last, end < last { ticks.append(end * 10) }
      self.ticks = ticks
    } else {
      let most = max(values.max() ?? 1, 1e-9)
      var step = Self.powerOfTen(below: most)
      if most / step > 5 { step *= 2 } else if most / step < 2 { step /= 5 } else if most / step < 4 { step /= 2 }
      let count = Int((most / step).rounded(.up))
      (low, high) = (0, step * Double(max(1, count)))
      ticks = (0...max(1, count)).map { Double($0) * step }
    }
  }

  /// Named places instead of numbers: 0, 1, and so on.
  init(names count: Int, from: Double, to: Double) {
    self.from = from
    self.to = to
    isLogarithmic = false
    (low, high) = (-0.6, Double(max(1, count)) - 0.4)
    ticks = (0..<count).map(Double.init)
  }

  func place(_ value: Double) -> Double {
    let part: Double
    if isLogarithmic {
      part = Self.decades(from: low, to: max(value, low)) / Self.decades(from: low, to: high)
    } else {
      part = (value - low) / (high - low)
    }
    return from + (to - from) * min(1, max(0, part))
  }

  private static func powerOfTen(below value: Double) -> Double {
    var power = 1.0
    while power > value, power > 1e-9 { power /= 10 }
    while power * 10 <= value { power *= 10 }
    return power
  }

  /// The logarithm to the base 10 of a quotient, without a library of mathematics.
  private static func decades(from low: Double, to high: Double) -> Double {
    var rest = high / low
    var result = 0.0
    while rest >= 10 {
      rest /= 10
      result += 1
    }
    // Digit by digit: what squared is ten or more has a bit.
    var bit = 0.5
    for _ in 0..<24 {
      rest *= rest
      if rest >= 10 {
        rest /= 10
        result += bit
      }
      bit /= 2
    }
    return result
  }
}
