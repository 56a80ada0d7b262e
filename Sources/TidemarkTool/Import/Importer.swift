import TidemarkLog
import TidemarkText

/// Appends events from a reader in batches and keeps count.
struct Importer {
  let log: Log
  let batchSize: Int
  /// What is appended in place of an event that was read.
  let transform: (NewEvent) throws -> NewEvent
  /// Called after each batch with the offset after its last event.
  let acknowledge: (Offset) throws -> Void

  /// Offset of the first event that was appended.
  private(set) var first: Offset?
  /// Events appended.
  private(set) var count: UInt64 = 0
  /// Events that were there already.
  private(set) var duplicates: UInt64 = 0
  private(set) var conflicts: UInt64 = 0

  private var batch: [NewEvent] = []
  /// On which line each event of it starts.
  private var batchLines: [Int] = []

  init(
    log: Log, batchSize: Int, transform: @escaping (NewEvent) throws -> NewEvent = { $0 }, acknowledge: @escaping (Offset) throws -> Void
  ) {
    self.log = log
    self.batchSize = batchSize
    self.transform = transform
    self.acknowledge = acknowledge
  }

  /// Appends everything, or throws after appending what came before the mistake: its batch up to the line before it, too.
  mutating func run(_ reader: inout some EventReader, _ source: FileSource, _ progress: ProgressDisplay) throws {
    var failure: (any Error)?
    while failure == nil {
      do {
        try Interrupt.check()
        guard let event = try reader.next() else { break }
        batch.append(try transform(event))
        batchLines.append(reader.lineNumber)
      } catch {
        failure = error
        break
      }
      guard batch.count == batchSize else { continue }
      try commit(source)
      progress.update(done: reader.consumedByteCount, of: source.byteCount, "\(count + duplicates) events")
    }
    if !batch.isEmpty { try commit(source) }
    if let failure { throw Self.explain(failure, reader, source) }
  }

  private mutating func commit(_ source: FileSource) throws {
    do {
      let answers = try batch.count == 1 ? [log.append(batch[0])] : log.append(batch)
      for answer in answers {
        if answer.isDuplicate {
          duplicates += 1
        } else {
          first = first ?? answer.offset
          count += 1
        }
      }
      batch.removeAll(keepingCapacity: true)
      batchLines.removeAll(keepingCapacity: true)
    } catch let error as LogError {
      if error.code == .conflict { conflicts += 1 }
      throw Self.explain(error, source, batchLines)
    }
    try acknowledge(log.size)
  }

  /// What is the matter with an event is told with its line; what is the matter with the log, with its file.
  private static func explain(_ error: LogError, _ source: FileSource, _ lines: [Int]) -> ToolError {
    let (first, last) = (lines.first ?? 0, lines.last ?? 0)
    var place = first == last ? "line \(first)" : "lines \(first) to \(last)"
    if let index = error.batchIndex, lines.indices.contains(index) { place = "line \(lines[index])" }
    switch error.code {
    case .tooLarge where lines.count > 1 && error.batchIndex == nil:
      return ToolError(
        ExitCode(error.code), error.what, place: "\(source.name), \(place)", why: error.why,
        advice: "name a smaller --batch; what came before line \(first) is in the log")
    case .conflict, .invalidEvent, .invalidText, .timeOutOfRange, .stringTooLong, .tooLarge:
      return ToolError(
        ExitCode(error.code), error.what, place: "\(source.name), \(place)", why: error.why,
        advice: "\(error.advice); what came before line \(first) is in the log")
    default:
      let file = error.file.map { file in error.position.map { "\(file), byte \($0)" } ?? file }
      return ToolError(
        ExitCode(error.code), error.what, place: file, why: error.why,
        advice: "\(error.advice); \(source.name) is not appended from line \(first) on")
    }
  }

  private static func explain(_ error: any Error, _ reader: some EventReader, _ source: FileSource) -> any Error {
    switch error {
    case let error as InputError:
      return ToolError(error, file: source.name, advice: "correct it, or name another --format; what came before it is in the log")
    case let error as LogError: return explain(error, source, [reader.lineNumber])
    case is Interrupted:
      return ToolError(
        .environment, "import stopped", place: "\(source.name), after line \(reader.lineNumber)", why: "interrupted",
        advice: "run it again to do the rest; with --id-from nothing is doubled")
    default: return error
    }
  }
}
