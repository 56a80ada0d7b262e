/// One opening of a log: which boot, which clocks, which program. Stored once per opening, not with each event.
public struct Session: Sendable, Equatable {
  /// Changes with each boot; nil if the system did not tell.
  public let bootID: EventID?
  /// The wall clock when the log was opened.
  public let start: Timestamp
  /// Nanoseconds since boot when the log was opened.
  public let startElapsed: UInt64
  /// Random, never the same for two openings.
  public let incarnation: UInt64
  /// Name and version of the program.
  public let program: String
  /// Such as `Europe/Oslo`.
  public let timeZoneName: String
  /// Empty unless the host sets it: identifying a device is the host's decision.
  public let deviceIdentifier: String

  static let byteCountLimit = 2048

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.add(bootID ?? .zero)
    bytes.add(start.nanoseconds)
    bytes.add(startElapsed)
    bytes.add(incarnation)
    bytes.addShortText(program)
    bytes.addShortText(timeZoneName)
    bytes.addShortText(deviceIdentifier)
    return bytes
  }

  /// Nil if the bytes are not a session.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= 43 else { return nil }
    var position = 40
    var texts: [String] = []
    for _ in 0..<3 {
      guard position < bytes.byteCount else { return nil }
      let count = Int(bytes.u8(position))
      guard count < bytes.byteCount - position else { return nil }
      texts.append(bytes.slice(position + 1, count).text())
      position += 1 + count
    }
    let bootID = bytes.id(0)
    self.init(
      bootID: bootID == .zero ? nil : bootID, start: Timestamp(nanoseconds: bytes.i64(16)), startElapsed: bytes.u64(24),
      incarnation: bytes.u64(32), program: texts[0], timeZoneName: texts[1], deviceIdentifier: texts[2])
  }

  init(
    bootID: EventID?, start: Timestamp, startElapsed: UInt64, incarnation: UInt64, program: String, timeZoneName: String,
    deviceIdentifier: String
  ) {
    self.bootID = bootID
    self.start = start
    self.startElapsed = startElapsed
    self.incarnation = incarnation
    self.program = program
    self.timeZoneName = timeZoneName
    self.deviceIdentifier = deviceIdentifier
  }
}

/// A session that many events refer to.
final class SharedSession: Sendable {
  let session: Session
  /// The data of its record.
  let data: [UInt8]

  init(_ session: Session) {
    self.session = session
    data = session.encode()
  }

  /// Nil if there is none, or the bytes are not a session.
  init?(_ bytes: RawSpan) {
    guard let session = Session(bytes) else { return nil }
    self.session = session
    data = bytes.array()
  }
}
