/// A store that keeps numbered events: what a setting of ours is made of.
protocol Store {
  /// Appends events as one commit. When it has returned, they are acknowledged.
  mutating func append(_ events: [[UInt8]]) throws
  /// Gives each event in stored order.
  mutating func forEach(_ body: ([UInt8]) throws -> Void) throws
  mutating func close() throws
}
