/// Writes a drawing as SVG. Coordinates are pixels, from the upper left corner.
struct SVG {
  enum Anchor: String {
    case start, middle, end
  }

  private var elements: [String] = []
  private let width: Double
  private let height: Double

  /// An empty drawing on white, so that it can be read on a dark page too.
  init(width: Double, height: Double) {
    self.width = width
    self.height = height
    rectangle(x: 0, y: 0, width: width, height: height, fill: "#ffffff")
  }

  mutating func rectangle(x: Double, y: Double, width: Double, height: Double, fill: String) {
    elements.append(#"<rect x="\#(pixels(x))" y="\#(pixels(y))" width="\#(pixels(width))" height="\#(pixels(height))" fill="\#(fill)"/>"#)
  }

  mutating func line(_ from: (x: Double, y: Double), _ to: (x: Double, y: Double), colour: String, width: Double = 1) {
    elements.append(
      #"<line x1="\#(pixels(from.x))" y1="\#(pixels(from.y))" x2="\#(pixels(to.x))" y2="\#(pixels(to.y))""#
        + #" stroke="\#(colour)" stroke-width="\#(pixels(width))"/>"#)
  }

  mutating func path(_ points: [(x: Double, y: Double)], colour: String, width: Double) {
    let text = points.map { "\(pixels($0.x)),\(pixels($0.y))" }.joined(separator: " ")
    elements.append(#"<polyline points="\#(text)" fill="none" stroke="\#(colour)" stroke-width="\#(pixels(width))"/>"#)
  }

  mutating func dot(_ at: (x: Double, y: Double), radius: Double, fill: String) {
    elements.append(#"<circle cx="\#(pixels(at.x))" cy="\#(pixels(at.y))" r="\#(pixels(radius))" fill="\#(fill)"/>"#)
  }

  /// `y` is where the letters stand.
  mutating func text(
    _ text: String, x: Double, y: Double, size: Double = 12, anchor: Anchor = .start, colour: String = "#24292f", isBold: Bool = false
  ) {
    let weight = isBold ? #" font-weight="bold""# : ""
    elements.append(
      #"<text x="\#(pixels(x))" y="\#(pixels(y))" font-size="\#(pixels(size))" text-anchor="\#(anchor.rawValue)""#
        + #" fill="\#(colour)"\#(weight)>\#(escaped(text))</text>"#)
  }

  var document: String {
    let size = #"width="\#(pixels(width))" height="\#(pixels(height))" viewBox="0 0 \#(pixels(width)) \#(pixels(height))""#
    return #"<svg xmlns="http://www.w3.org/2000/svg" \#(size) font-family="Helvetica, Arial, sans-serif">"# + "\n"
      + elements.joined(separator: "\n") + "\n</svg>\n"
  }
}

/// A tenth of a pixel is enough; without a fraction where there is none.
private func pixels(_ value: Double) -> String {
  let tenths = Int((value * 10).rounded())
  return tenths.isMultiple(of: 10) ? "\(tenths / 10)" : "\(Double(tenths) / 10)"
}

private func escaped(_ text: String) -> String {
  var result = ""
  for character in text {
    switch character {
    case "&": result += "&amp;"
    case "<": result += "&lt;"
    case ">": result += "&gt;"
    default: result.append(character)
    }
  }
  return result
}

/// A number of three digits for charts: `0.25`, `7.42`, `128`, `12.3k`, `4.5M`.
func compact(_ value: Double) -> String {
  guard value.isFinite else { return "\(value)" }
  let size = abs(value)
  let (scale, suffix) = size >= 999.5e6 ? (1e9, "G") : size >= 999.5e3 ? (1e6, "M") : size >= 999.5 ? (1e3, "k") : (1, "")
  let scaled = value / scale
  let places = abs(scaled) >= 99.95 ? 1.0 : abs(scaled) >= 9.995 ? 10.0 : 100.0
  let rounded = (scaled * places).rounded() / places
  var text = rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
  if text == "-0" { text = "0" }
  return text + suffix
}

/// Colours that most people can tell apart. What is ours stands out in bars; the limit that nothing can pass is black.
func colour(of series: String) -> String {
  series.hasPrefix("tidemark") ? "#1f6feb" : series.hasPrefix("raw") ? "#24292f" : "#a8b3c1"
}

let lineColours = ["#1f6feb", "#d1242f", "#1a7f37", "#bf8700", "#8250df", "#6e7781", "#0598bc", "#bc4c00"]
