import TestSupport
import TidemarkLog

extension Cursor {
  /// The data of the next event.
  mutating func nextText() throws -> String? {
    guard let event = try next() else { return nil }
    return event.data.text()
  }

  /// Offset and stored bytes of the next event.
  mutating func nextRecord() throws -> (Offset, [UInt8])? {
    guard let event = try next() else { return nil }
    return (event.offset, event.record.array())
  }
}
