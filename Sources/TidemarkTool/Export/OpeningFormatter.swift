import TidemarkEvidence
import TidemarkLog

/// Writes sealed events as they were before, where their keys are there; erased ones as they are stored.
struct OpeningFormatter<Formatter: EventFormatter>: EventFormatter {
  let events: ErasableEvents
  var formatter: Formatter

  func header(to output: inout [UInt8]) { formatter.header(to: &output) }

  mutating func append(_ event: borrowing EventView, _ session: Session?, to output: inout [UInt8]) throws {
    if case .readable(let content) = try events.open(copy event) {
      try formatter.append(event.copy(showing: content).view, session, to: &output)
    } else {
      try formatter.append(event, session, to: &output)
    }
  }
}
