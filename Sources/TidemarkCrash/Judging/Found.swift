/// What a fresh process found in a store after a fault.
package struct Found: Sendable, Equatable {
  /// One event in stored order.
  package struct Event: Sendable, Equatable {
    package var number: UInt64
    /// Whether its content is what the number asks for.
    package var isRight: Bool

    package init(_ number: UInt64, isRight: Bool = true) {
      self.number = number
      self.isRight = isRight
    }
  }

  package var events: [Event]
  /// How long opening took.
  package var openingMicroseconds: UInt64

  package init(events: [Event], openingMicroseconds: UInt64 = 0) {
    self.events = events
    self.openingMicroseconds = openingMicroseconds
  }

  /// Reads what `verify` printed; nil if that does not end as it should.
  package init?(output: [UInt8]) {
    events = []
    openingMicroseconds = 0
    var lines = output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true)
    guard let last = lines.popLast() else { return nil }
    let end = String(decoding: last, as: UTF8.self).split(separator: " ")
    guard end.count == 3, end[0] == "end", let count = Int(end[1]), let microseconds = UInt64(end[2]), count == lines.count else {
      return nil
    }
    openingMicroseconds = microseconds
    events.reserveCapacity(lines.count)
    for line in lines {
      var number: UInt64 = 0
      var digits = 0
      for byte in line {
        guard byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") else { break }
        let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
        let (sum, carry) = tenfold.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
        guard !overflow && !carry else { return nil }
        number = sum
        digits += 1
      }
      let rest = line.dropFirst(digits)
      guard digits > 0, rest.isEmpty || rest.elementsEqual(" bad".utf8) else { return nil }
      events.append(Event(number, isRight: rest.isEmpty))
    }
  }
}
