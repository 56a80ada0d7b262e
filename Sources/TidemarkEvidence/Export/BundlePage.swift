internal import TidemarkLog

/// A bundle for people to read.
struct BundlePage {
  struct Row {
    var event: Event
    /// Of the last receipt before it in the log.
    var appendedAfter: Timestamp?
    /// Of the first receipt that covers it.
    var appendedBefore: Timestamp
    var size: Offset
  }

  let origin: String
  let rows: [Row]

  var bytes: [UInt8] {
    var page = Page("Evidence bundle")
    page.paragraph("\(rows.count) events of \(origin).")
    page.paragraph(
      "This page is for reading. It proves nothing: run `python3 verify.py --policy POLICY .` in this directory, with a policy that you "
        + "have from the server's operator and not from here.")
    page.heading("Events")
    page.table(
      ["offset", "type", "subject", "actor", "device's clock", "appended after", "appended before", "receipt's size"],
      rows.map { row in
        [
          "\(row.event.offset)", row.event.isControl ? "(control)" : row.event.type, row.event.subject ?? "", row.event.actor ?? "",
          Page.time(row.event.time), Page.time(row.appendedAfter), Page.time(row.appendedBefore), "\(row.size)",
        ]
      })
    page.paragraph(
      "The device's clock is what the device said. After and before are the server's times: the event was appended to the log between "
        + "them. When it was captured, and that it is true, no log can prove.")
    return page.bytes
  }
}
