internal import TidemarkLog
internal import TidemarkText

/// A page that needs nothing else: no script, no font, no picture from elsewhere.
struct Page {
  let title: String
  var body: [String] = []

  init(_ title: String) {
    self.title = title
    body = ["<h1>\(HTML.escaped(title))</h1>"]
  }

  mutating func heading(_ text: String) { body.append("<h2>\(HTML.escaped(text))</h2>") }
  mutating func paragraph(_ text: String) { body.append("<p>\(HTML.escaped(text))</p>") }
  mutating func items(_ texts: [String]) { body.append("<ul>" + texts.map { "<li>\(HTML.escaped($0))" }.joined() + "</ul>") }

  mutating func table(_ heads: [String], _ rows: [[String]]) {
    body.append("<div class=\"scroll\"><table><tr>" + heads.map { "<th>\(HTML.escaped($0))" }.joined())
    body += rows.map { "<tr>" + $0.map { "<td>\(HTML.escaped($0))" }.joined() }
    body.append("</table></div>")
  }

  var bytes: [UInt8] {
    let page = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
      <title>\(HTML.escaped(title))</title>
      <style>\(Self.style)</style></head>
      <body>
      \(body.joined(separator: "\n"))
      </body></html>

      """
    return Array(page.utf8)
  }

  static func time(_ time: Timestamp?) -> String {
    time.map { RFC3339.format(nanoseconds: $0.nanoseconds, fractionDigits: $0.nanoseconds % 1_000_000_000 == 0 ? 0 : 3) } ?? "not known"
  }

  static func range(_ range: Range<Offset>) -> String {
    range.upperBound - range.lowerBound == 1
      ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound - min(1, range.upperBound))"
  }

  private static let style = """
    body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2733;background:#fff}
    h1{font-size:1.6rem;margin:0 0 .5rem}h2{font-size:1.15rem;margin:2rem 0 .4rem;border-bottom:1px solid #d5dce3;padding-bottom:.2rem}
    table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.25rem .9rem .25rem 0;vertical-align:top}
    th{color:#5b6b7b;font-weight:600}tr+tr td{border-top:1px solid #eef1f4}.scroll{overflow-x:auto}
    .verdict{font-size:1.2rem;font-weight:700;padding:.6rem 1rem;border-radius:.4rem;margin:1rem 0}
    .proven{background:#e0f3e6;color:#10592c}.unproven{background:#fdf0d3;color:#6b4700}.refuted{background:#fbe0de;color:#8b1410}
    code{font-size:.85em;word-break:break-all}svg{max-width:100%;height:auto}
    """
}
