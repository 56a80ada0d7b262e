/// The settings that the tool itself can play.
package enum OwnSetting: String, CaseIterable, Sendable {
  case tidemarkSynced = "tidemark-synced"
  case tidemarkWritten = "tidemark-written"
  case tidemarkBuffered = "tidemark-buffered"
  case plainFdatasync = "plain-fdatasync"
  case plainNosync = "plain-nosync"
  /// As `tidemark-synced`, with segments so small that they are closed and sealed all the time.
  case tidemarkSmall = "tidemark-small"
  case acknowledgesBeforeWrite = "control-acks-before-write"
  case neverSyncs = "control-never-syncs"
  case neverFlushes = "control-never-flushes"
  case retriesSync = "control-retries-sync"
  case ignoresShortWrites = "control-ignores-short-writes"

  /// Those that run if nobody asks for others.
  package static let usual: [OwnSetting] = [.tidemarkSynced, .tidemarkWritten, .tidemarkBuffered, .plainFdatasync, .plainNosync]

  package var claim: Claim {
    switch self {
    case .tidemarkSynced, .tidemarkSmall, .plainFdatasync: .power
    case .tidemarkWritten, .plainNosync: .process
    case .tidemarkBuffered: .none
    // What a program with the mistake would say of itself.
    case .acknowledgesBeforeWrite: .process
    case .neverSyncs, .neverFlushes, .retriesSync, .ignoresShortWrites: .power
    }
  }

  package var isControl: Bool { rawValue.hasPrefix("control-") }

  /// The setting as a subject that this very program plays.
  package func subject(program: String, version: String) -> Subject {
    Subject(
      name: rawValue, claim: claim, library: rawValue.hasPrefix("tidemark") ? version : "", isControl: isControl, program: program,
      prefix: [SubjectProgram.word, rawValue])
  }
}
