/// What a log is: made once, and never changed but for new epochs.
public struct LogIdentity: Sendable, Equatable {
  /// One uninterrupted history. A restored or cloned device goes on in a new one.
  public struct Epoch: Sendable, Equatable {
    /// Random.
    public let id: EventID
    /// The epoch that this one continues; nil for the first.
    public let parent: EventID?
    /// The size at which it forks from its parent.
    public let forkSize: Offset
    /// By the device's wall clock.
    public let created: Timestamp
    /// The history tree's root at the fork, 32 bytes; nil if unknown.
    public let rootHash: [UInt8]?
  }

  /// Random.
  public let logID: EventID
  /// By the device's wall clock.
  public let created: Timestamp
  /// Which digest tells a repeated event from a conflict: 1 XXH3-128, 2 SHA-256. 0 if that is not known: the identity was lost and made
  /// again from the segments, which do not tell; the next writer that is opened with a digest of its own settles it.
  public internal(set) var contentDigestKind: UInt16
  /// Oldest first, at least one, at most 45.
  public let epochs: [Epoch]

  /// The current epoch.
  public var epochID: EventID { epochs.last?.id ?? .zero }
}

/// The file `identity`: two pages that are rewritten in turn, so that one always serves.
///
/// ```
///   32           40       56        64             66       68    80
///   +------------+--------+---------+--------------+--------+-----+-----------------------------------------------------------------+
///   | generation | log id | created | digest kind  | epochs | 0   | each: id, parent, fork size, created, root known, root (88)     |
///   +------------+--------+---------+--------------+--------+-----+-----------------------------------------------------------------+
/// ```
struct IdentityPages {
  static let pageByteCount = 4096
  static let epochLimit = 45

  static func encode(_ identity: LogIdentity, generation: UInt64) -> [UInt8] {
    var page = Page.make(.identity, byteCount: pageByteCount)
    page.store(generation, at: 32)
    page.store(identity.logID, at: 40)
    page.store(identity.created.nanoseconds, at: 56)
    page.store(identity.contentDigestKind, at: 64)
    page.store(UInt16(identity.epochs.count), at: 66)
    var position = 80
    for epoch in identity.epochs.suffix(epochLimit) {
      page.store(epoch.id, at: position)
      page.store(epoch.parent ?? .zero, at: position + 16)
      page.store(epoch.forkSize, at: position + 32)
      page.store(epoch.created.nanoseconds, at: position + 40)
      if let root = epoch.rootHash {
        page.store(UInt64(1), at: position + 48)
        page.store(root.rawSpan, at: position + 56)
      }
      position += 88
    }
    Page.finish(&page)
    return page
  }

  private static func decode(_ page: RawSpan) -> LogIdentity? {
    let count = Int(page.u16(66))
    guard (1...epochLimit).contains(count) || planted(.identity) else { return nil }
    let epochs = (0..<count).map { index in
      let at = 80 + 88 * index
      let parent = page.id(at + 16)
      return LogIdentity.Epoch(
        id: page.id(at), parent: parent == .zero ? nil : parent, forkSize: page.u64(at + 32),
        created: Timestamp(nanoseconds: page.i64(at + 40)),
        rootHash: page.u64(at + 48) == 1 ? page.slice(at + 56, 32).array() : nil)
    }
    return LogIdentity(logID: page.id(40), created: Timestamp(nanoseconds: page.i64(56)), contentDigestKind: page.u16(64), epochs: epochs)
  }

  enum Reading {
    /// `damaged` lists the slots that do not serve, with the reason.
    case identity(LogIdentity, generation: UInt64, damaged: [(slot: Int, why: String)])
    case damaged(String)
    case unsupported(slot: Int, why: String)
  }

  static func read(_ file: [UInt8]) -> Reading {
    var best: (LogIdentity, UInt64)?
    var damaged: [(slot: Int, why: String)] = []
    var unsupported: (slot: Int, why: String)?
    for slot in 0..<2 {
      guard file.count >= (slot + 1) * pageByteCount else {
        damaged.append((slot, "the file is too short"))
        continue
      }
      let page = file.rawSpan.slice(slot * pageByteCount, pageByteCount)
      switch Page.check(page, .identity) {
      case .damaged(let why): damaged.append((slot, why))
      case .unsupported(let why): unsupported = unsupported ?? (slot, why)
      case .sound:
        guard let identity = decode(page) else {
          damaged.append((slot, "its number of epochs is impossible"))
          continue
        }
        if best.map({ page.u64(32) > $0.1 }) ?? true { best = (identity, page.u64(32)) }
      }
    }
    if let unsupported { return .unsupported(slot: unsupported.slot, why: unsupported.why) }
    if file.count > 2 * pageByteCount { damaged.append((2, "the file is too long")) }
    guard let best else { return .damaged(damaged.first?.why ?? "it is empty") }
    return .identity(best.0, generation: best.1, damaged: damaged)
  }
}
