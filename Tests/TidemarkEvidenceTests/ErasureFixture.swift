import Foundation
import TestSupport
import TidemarkEvidence
import TidemarkLog

/// A log and a directory of keys on one simulated disk, with small segments and no threads.
final class ErasureFixture {
  let disk: SimulatedDisk
  let environment: Environment
  let options: LogOptions
  private(set) var log: Log
  private(set) var store: FileKeyStore

  init(disk: SimulatedDisk = SimulatedDisk()) throws {
    self.disk = disk
    environment = .simulated(disk, seed: 1)
    var options = LogOptions()
    options.segmentByteCount = 8192
    options.zerosAheadByteCount = 2048
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    self.options = options
    if try disk.status("/log") == nil { try Log.create(at: "/log", options: options, environment: environment) }
    log = try Log.open(at: "/log", options: options, environment: environment)
    store = FileKeyStore(directory: "/keys", files: disk)
  }

  var events: ErasableEvents { ErasableEvents(keys: store) }

  /// As a process that starts anew.
  func restart() throws {
    try? log.close()
    log = try Log.open(at: "/log", options: options, environment: environment)
    store = FileKeyStore(directory: "/keys", files: disk)
  }

  func cutPower(_ cut: PowerCut = .losesEverything) throws {
    disk.powerCycle(cut)
    log = try Log.open(at: "/log", options: options, environment: environment)
    store = FileKeyStore(directory: "/keys", files: disk)
  }

  func verify() throws -> VerificationReport { try Log.verify(at: "/log", options: options, environment: environment) }

  /// All that the log has, control events included.
  func everything() throws -> [Event] { try (log.first..<log.size).map { try log.event(at: $0) } }

  /// Appends events of a person, sealed, of which every field that is the person's carries a marker.
  @discardableResult
  func appendVisits(of subject: String, count: Int, from number: UInt64) throws -> [NewEvent] {
    let visits = (0..<UInt64(count)).map { visit(of: subject, number + $0) }
    for visit in visits { try log.append(events.seal(visit, for: subject)) }
    return visits
  }

  /// A derived copy, as another module would leave it.
  func putFile(_ path: String, _ bytes: [UInt8]) throws {
    var missing: [String] = []
    var directory = path
    while let slash = directory.lastIndex(of: "/"), slash != directory.startIndex {
      directory = String(directory[..<slash])
      if try disk.status(directory) == nil { missing.append(directory) }
    }
    for directory in missing.reversed() { try disk.makeDirectory(directory) }
    let file = try disk.open(path, .create)
    defer { file.close() }
    try file.write(bytes.rawSpan, at: 0)
    try file.sync()
    for directory in missing.reversed() { try disk.syncDirectory(above(directory)) }
    try disk.syncDirectory(above(path))
  }

  private func above(_ path: String) -> String {
    let parent = path.split(separator: "/").dropLast().joined(separator: "/")
    return "/\(parent)"
  }

  /// Files in which any of the markers stands, as text or as bytes.
  func files(with markers: [[UInt8]]) -> [String] {
    disk.image.files().filter { path in
      let bytes = disk.image.contents(of: path) ?? []
      return markers.contains { bytes.contains(bytesOf: $0) } || markers.contains { Array(path.utf8).contains(bytesOf: $0) }
    }
  }
}

/// What marks a person in their events.
func markers(of subject: String) -> [[UInt8]] {
  [subject, "nurse of \(subject)", "diagnosis of \(subject)", "ward of \(subject)", "photo of \(subject)"].map { Array($0.utf8) }
}

func visit(of subject: String, _ number: UInt64) -> NewEvent {
  let photo = EventExtension.Attachment(
    byteCount: 5, digest: SHA256().hash(Array("photo".utf8)).bytes, mediaType: "image/jpeg", name: "photo of \(subject)")
  return NewEvent(
    type: "visit", subject: subject, actor: "nurse of \(subject)", contentType: "text/plain", id: visitID(number),
    extensions: [.correlation(visitID(1000)), .attribute(name: "ward", value: "ward of \(subject)"), .attachment(photo)],
    data: Array("diagnosis of \(subject)".utf8))
}

func visitID(_ number: UInt64) -> EventID { EventID(high: 0x0123_4567_89AB_7000, low: 0x8000_0000_0000_0000 | number &* 0x9E37_79B9) }

extension [UInt8] {
  func contains(bytesOf other: [UInt8]) -> Bool { Data(self).range(of: Data(other)) != nil }
}

/// Nil if the text is not hexadecimal digits in pairs.
func erasureBytes(_ text: String) -> [UInt8]? {
  let digits = text.compactMap(\.hexDigitValue)
  guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
  var bytes: [UInt8] = []
  for index in stride(from: 0, to: digits.count, by: 2) { bytes.append(UInt8(digits[index] << 4 | digits[index + 1])) }
  return bytes
}

func erasureError(_ body: () throws -> Void) -> LogError? {
  do {
    try body()
    return nil
  } catch {
    return error as? LogError
  }
}

/// A store of a host: keys in memory.
final class MemoryKeyStore: SubjectKeyStore {
  private struct State {
    var keys: [SubjectKey] = []
    var pending: [SubjectKey] = []
    var destroyed: Set<EventID> = []
  }

  private let state: Locked<State>

  init(_ keys: [SubjectKey] = []) { state = Locked(State(keys: keys)) }

  func key(for subject: String) throws -> SubjectKey {
    state.withLock { state in
      if let key = state.keys.first(where: { $0.subject == subject }) { return key }
      let key = SubjectKey(newFor: subject)
      state.keys.append(key)
      return key
    }
  }

  func keys(of subject: String) throws -> [SubjectKey] { state.withLock { $0.keys.filter { $0.subject == subject } } }

  func find(_ id: EventID) throws -> FoundKey {
    state.withLock { state in
      if let key = state.keys.first(where: { $0.id == id }) { return .key(key) }
      return state.destroyed.contains(id) || state.pending.contains { $0.id == id } ? .destroyed : .unknown
    }
  }

  func beginErasure(of subject: String) throws {
    state.withLock { state in
      state.pending += state.keys.filter { $0.subject == subject }
      state.keys.removeAll { $0.subject == subject }
    }
  }

  func pendingErasures() throws -> [PendingErasure] { state.withLock { $0.pending.map { PendingErasure(id: $0.id, key: $0) } } }

  func destroy(_ id: EventID) throws {
    state.withLock { state in
      guard (state.keys + state.pending).contains(where: { $0.id == id }) else { return }
      state.keys.removeAll { $0.id == id }
      state.pending.removeAll { $0.id == id }
      state.destroyed.insert(id)
    }
  }
}
