public import TidemarkLog

/// What a receipt says about time: by a server's clock, what was in the log.
///
/// ```swift
/// let receipt = ReceiptTime(offset: 120, size: 118, time: serverTime)
/// let review = ClockReview(receipts: [receipt])
/// ```
public struct ReceiptTime: Sendable, Hashable {
  /// The offset of the receipt's own control record in the log.
  public var offset: Offset
  /// The size of the log that the server signed: events below it are covered.
  public var size: Offset
  /// The server's time.
  public var time: Timestamp

  /// Describes a receipt. Nothing is checked.
  public init(offset: Offset, size: Offset, time: Timestamp) {
    self.offset = offset
    self.size = size
    self.time = time
  }
}
