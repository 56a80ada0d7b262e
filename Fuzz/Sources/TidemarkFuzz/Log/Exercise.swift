import TestSupport
@testable import TidemarkLog

/// Does with a log what everybody does: checks it, reads it, writes to it, opens it again, salvages it. Whatever its files hold, each step
/// ends with a result or with an error that says what is the matter, and what was read stays read.
struct Exercise {
  struct Settings {
    var policy: CorruptionPolicy = .quarantine
    var durableFloor: Offset = 0
    var seals = false
    var trims = false
    var salvages = false
    /// Whether somebody tries to write first while the disk is full.
    var isFull = false
    /// Whether so much is appended that a salvaged log needs several frames and segments.
    var isLong = false

    init() {}

    init(_ flags: UInt8) {
      policy = [.quarantine, .refuse, .salvage, .quarantine][Int(flags & 3)]
      if flags & 4 != 0 { durableFloor = 3 }
      seals = flags & 8 != 0
      trims = flags & 16 != 0
      salvages = flags & 32 != 0
      isFull = flags & 64 != 0
      isLong = flags & 128 != 0
    }
  }

  private static let path = LogFiles.directory
  /// What files may lead to. Anything else is not what is the matter with them.
  private static let honest: Set<LogError.Code> = [.corrupt, .notALog, .unsupportedVersion]
  /// EROFS on Linux. Looking at a log writes nothing.
  private static let readOnly: Int32 = 30

  let image: DiskImage
  let settings: Settings

  init(_ files: LogFiles, _ settings: Settings) {
    image = files.image()
    self.settings = settings
  }

  func run() {
    let disk = SimulatedDisk(image)
    for path in image.files() { explain("\(path): \(image.contents(of: path)?.count ?? 0) bytes") }
    let environment = Environment.simulated(disk, seed: 0xF0221)
    disk.writeRefusal = Self.readOnly
    let report = attempt("verify") { try Log.verify(at: Self.path, options: options(), environment: environment) }
    explain("verify: \(report.map { "\($0)" } ?? "refused")")
    let seen = look(environment)
    explain("a reader is served: \(seen.map(\.description) ?? "refused")")
    dump(disk)
    disk.writeRefusal = nil
    if settings.salvages { salvage(disk, environment, to: "/salvaged") }
    if settings.isFull { writeWithoutSpace(disk, environment, seen) }
    write(environment, report, seen)
    if settings.isLong { salvage(disk, environment, to: "/salvaged-long") }
  }

  private func options() -> LogOptions {
    var options = LogOptions()
    options.segmentByteCount = 16384
    options.zerosAheadByteCount = 1024
    options.sealing = .manual
    options.compression = settings.salvages ? .high : .fast
    options.syncIntervalMilliseconds = 0
    options.onCorruption = settings.policy
    options.durableFloor = settings.durableFloor
    // Longer than a session record takes.
    options.program = String(repeating: "fuzz", count: settings.trims ? 100 : 1)
    return options
  }

  /// Runs one step; nil if it says, honestly, that the files are not what it needs.
  private func attempt<Value>(_ what: String, _ codes: Set<LogError.Code> = Self.honest, _ body: () throws -> Value) -> Value? {
    do { return try body() } catch let error as LogError {
      require(codes.contains(error.code), "\(what) ends with \(error.code.rawValue): \(error)")
      explain("\(what): \(error)")
      return nil
    } catch { violated("\(what) throws something else than a LogError: \(error)") }
  }

  /// Runs one step that nothing may keep from succeeding.
  private func must<Value>(_ what: String, _ body: () throws -> Value) -> Value {
    do { return try body() } catch { violated("\(what): \(error)") }
  }

  // MARK: Reading

  private func look(_ environment: Environment) -> Contents? {
    let opened = attempt("opening for reading") { try Log.openForReading(at: Self.path, options: options(), environment: environment) }
    guard let log = opened else { return nil }
    let seen = Contents(log, "a reader")
    look(log, seen)
    return seen
  }

  private func look(_ log: Log, _ seen: Contents) {
    _ = attempt("statistics") { try log.statistics() }
    for entry in seen.entries.prefix(2) + seen.entries.suffix(1) {
      let event = attempt("event(at:)") { try log.event(at: entry.offset) }
      if let event { require(event.id == entry.id, "event(at:) gives another event at offset \(entry.offset) than a cursor") }
      let found = attempt("event(id:)") { try log.event(id: entry.id) }
      if let found = found ?? nil { require(found.id == entry.id, "event(id:) gives an event with another id") }
    }
    _ = attempt("event(id:)") { try log.event(id: EventID(high: 1, low: 2)) }
    _ = attempt("event(at:)", Self.honest.union([.offsetOutOfRange, .trimmed])) { try log.event(at: log.first) }
    var query = Query(times: Timestamp(nanoseconds: 0)...Timestamp.latest)
    query.onDamage = .skip
    _ = attempt("a query by time") {
      var cursor = try log.read(query)
      var offsets: [Offset] = []
      while let event = try cursor.next() { offsets.append(event.offset) }
      explain("a query by time gives: \(offsets)")
      require(offsets.count <= seen.entries.count, "a query by time gives more than there is")
    }
    _ = attempt("events in blocks") {
      var cursor = try log.read(Query(onDamage: .skip))
      var count = 0
      while var block = try cursor.nextBlock() {
        while block.next() != nil { count += 1 }
      }
      require(count <= seen.entries.count, "blocks give more than there is")
    }
  }

  private func dump(_ disk: SimulatedDisk) {
    for path in disk.image.files(under: Self.path + "/segments") {
      _ = attempt("a dump") {
        var last: UInt64 = 0
        try SegmentDump.describe(path, disk) { entry in
          require(entry.position >= last, "a dump goes back to byte \(entry.position)")
          last = entry.position
        }
      }
    }
  }

  private func salvage(_ disk: SimulatedDisk, _ environment: Environment, to path: String) {
    let onto = attempt("salvaging onto itself", Self.honest.union([.alreadyExists])) {
      try Log.salvage(from: Self.path, to: Self.path, environment: environment)
    }
    require(onto == nil, "a log is salvaged onto itself")
    must("making a file") { try disk.open(path + ".file", .create).close() }
    let over = attempt("salvaging over a file", Self.honest.union([.notADirectory])) {
      try Log.salvage(from: Self.path, to: path + ".file", environment: environment)
    }
    require(over == nil, "a log is salvaged over a file")
    let nowhere = attempt("opening nothing") { try Log.openForReading(at: path, options: options(), environment: environment) }
    require(nowhere == nil, "a log opens where there is none")
    must("making a directory") { try disk.makeDirectory(path) }
    let salvaged = attempt("salvaging") {
      try Log.salvage(from: Self.path, to: path + "/", environment: environment) { $0.done <= $0.total }
    }
    guard salvaged != nil else { return }
    _ = attempt("stopping a check", Self.honest.union([.closed])) {
      try Verification.run(LogDirectory(path: path), environment.fileSystem, durableFloor: 0) { _ in false }
    }
    let report = must("checking a salvaged log") { try Log.verify(at: path, options: LogOptions(), environment: environment) }
    let unexpected = report.findings.first { $0.kind != .gap && !$0.isHarmless }
    require(unexpected == nil, "a salvaged log is not sound: \(report.findings)")
    let log = must("opening a salvaged log") { try Log.openForReading(at: path, options: LogOptions(), environment: environment) }
    _ = Contents(log, "a salvaged log")
  }

  // MARK: Writing

  /// Without space a log opens for reading at least, loses nothing, and says what is the matter.
  private func writeWithoutSpace(_ disk: SimulatedDisk, _ environment: Environment, _ seen: Contents?) {
    disk.capacity = disk.image.usedByteCount + 600
    let full: Set<LogError.Code> = Self.honest.union([.diskFull, .outcomeUnknown])
    let opened = attempt("opening without space", full) { try Log.open(at: Self.path, options: options(), environment: environment) }
    if let log = opened {
      let found = Contents(log, "a writer without space")
      explain("a writer without space is served: \(found)")
      if let seen { found.mustHold(seen, above: log.first, "a writer without space", but: log.recoveryReport.gaps, below: log.durable) }
      _ = attempt("an append without space", full) { try log.append(NewEvent(type: "fuzz", data: [UInt8](repeating: 1, count: 900))) }
      _ = attempt("closing without space", full) { try log.close() }
    }
    disk.capacity = nil
  }

  private func write(_ environment: Environment, _ report: VerificationReport?, _ seen: Contents?) {
    let opened = attempt("opening for writing") { try Log.open(at: Self.path, options: options(), environment: environment) }
    guard let log = opened else {
      require(report?.isOK != true, "a log that verify calls sound does not open")
      return
    }
    require(!"\(log.recoveryReport)".isEmpty, "a recovery report says nothing")
    explain("a writer finds: \(log.recoveryReport)")
    let found = Contents(log, "a writer")
    explain("a writer is served: \(found)")
    // A frame that verifies may hold something else than records: a reader serves what comes before it, recovery gives up the whole frame,
    // and says so.
    if let seen { found.mustHold(seen, above: log.first, "a writer, after a reader", but: log.recoveryReport.gaps) }
    look(log, found)
    let size = log.size
    if size > Record.offsetLimit - (2 << 32) {
      _ = attempt("an append at the last offsets", [.tooLarge]) { try log.append(NewEvent(type: "fuzz")) }
      return must("closing") { try log.close() }
    }
    let appended = must("an append") { try log.append(NewEvent(type: "fuzz", subject: "s", data: [1, 2, 3])) }
    require(appended.offset >= size, "an append gets offset \(appended.offset), but the log had \(size) events")
    if let known = found.entries.last(where: { !$0.isControl }) {
      _ = attempt("an append of a known id", Self.honest.union([.conflict])) {
        try log.append(NewEvent(type: "fuzz", id: known.id, data: [9]))
      }
    }
    refuse(log)
    must("staging") { try log.stage(control: .receipt, data: [1]) }
    // Closed segments are not read at opening: sealing may be the first to see what is in them.
    if settings.seals { _ = attempt("sealing") { try log.seal() } }
    if settings.trims { _ = attempt("trimming") { try log.trim(below: log.size / 2) } }
    must("a batch") { _ = try log.append([NewEvent(type: "a"), NewEvent(type: "b", data: [UInt8](repeating: 7, count: 300))]) }
    if settings.isLong {
      let event = NewEvent(type: "long", data: [UInt8](repeating: 3, count: 12000))
      must("appending much") { for _ in 0..<12 { try log.append(event) } }
    }
    must("a mark") { _ = try log.recordDurable() }
    let before = Contents(log, "a writer that appended")
    explain("a writer that appended is served: \(before)")
    before.mustHold(found, above: log.first, "a writer that appended")
    must("closing") { try log.close() }
    again(environment, report, before)
  }

  /// Extensions that no record can hold are refused, and nothing is changed by that.
  private func refuse(_ log: Log) {
    let impossible: [EventExtension] = [
      .attribute(name: "", value: "v"), .attribute(name: String(repeating: "n", count: 256), value: "v"),
      .attribute(name: "n", value: String(repeating: "v", count: 1 << 16)),
      .attachment(EventExtension.Attachment(byteCount: 1, digest: [1], mediaType: "image/jpeg", name: "n")),
    ]
    let size = log.size
    for entry in impossible {
      let appended = attempt("an append of \(entry)", [.invalidEvent, .stringTooLong]) {
        try log.append(NewEvent(type: "fuzz", extensions: [entry]))
      }
      require(appended == nil && log.size == size, "an impossible extension is appended")
    }
  }

  private func again(_ environment: Environment, _ report: VerificationReport?, _ before: Contents) {
    // Opening does not read what only checking reads: a later version's frame in a closed segment.
    let codes: Set<LogError.Code> = report == nil ? Self.honest : []
    let second = attempt("checking again", codes) { try Log.verify(at: Self.path, options: options(), environment: environment) }
    explain("verify again: \(second.map { "\($0)" } ?? "refused")")
    let reader = attempt("reading again", Self.honest) {
      try Log.openForReading(at: Self.path, options: options(), environment: environment)
    }
    if let reader {
      let seen = Contents(reader, "a second reader")
      explain("a second reader is served: \(seen)")
      seen.mustHold(before, above: reader.first, "a second reader")
    }
    guard let log = attempt("opening again", [.corrupt], { try Log.open(at: Self.path, options: options(), environment: environment) })
    else { return require(settings.policy == .refuse, "a log does not open a second time") }
    Contents(log, "a second writer").mustHold(before, above: log.first, "a second writer")
    must("an append to a log opened again") { _ = try log.append(NewEvent(type: "fuzz", subject: "again")) }
    must("closing again") { try log.close() }
  }
}

/// Everything that a log serves.
struct Contents: CustomStringConvertible {
  struct Entry {
    var offset: Offset
    var id: EventID
    var hash: UInt64
    var isControl: Bool
  }

  private(set) var entries: [Entry] = []

  var description: String { entries.map { "\($0.offset)\($0.isControl ? "c" : "")" }.joined(separator: " ") }

  /// Reads everything; offsets only rise, and every field of every event can be asked for.
  init(_ log: Log, _ who: String) {
    do {
      var cursor = try log.read(Query(includesControlEvents: true, onDamage: .skip))
      var isDone = false
      var errors = 0
      while !isDone {
        do {
          isDone = try add(&cursor, who)
          _ = cursor.session
        } catch let error as LogError {
          require([.corrupt, .unsupportedVersion].contains(error.code), "\(who) meets \(error)")
          errors += 1
          if errors > 64 { return }
        }
      }
    } catch { violated("\(who) can't begin to read: \(error)") }
  }

  /// True at the end.
  private mutating func add(_ cursor: inout Cursor, _ who: String) throws -> Bool {
    guard let event = try cursor.next() else { return true }
    require(entries.last.map { event.offset > $0.offset } ?? true, "\(who) is served offset \(event.offset) out of order")
    entries.append(Entry(offset: event.offset, id: event.id, hash: xxh3(event.record), isControl: event.isControl))
    EventLook.at(event)
    return false
  }

  /// What was read stays read.
  func mustHold(_ earlier: Contents, above first: Offset, _ who: String, but lost: [Range<Offset>] = [], below end: Offset = .max) {
    var index = 0
    for entry in earlier.entries where entry.offset >= first && entry.offset < end && !lost.contains(where: { $0.contains(entry.offset) }) {
      while index < entries.count, entries[index].offset < entry.offset { index += 1 }
      guard index < entries.count, entries[index].offset == entry.offset else {
        violated("\(who) is not served event \(entry.offset), which was read before")
      }
      require(entries[index].hash == entry.hash, "\(who) is served another event at offset \(entry.offset) than was read before")
    }
  }
}

/// Asks for every field of an event.
enum EventLook {
  static func at(_ event: borrowing EventView) {
    let lengths =
      event.type.utf8.count + (event.subject?.utf8.count ?? 0) + (event.actor?.utf8.count ?? 0) + (event.contentType?.utf8.count ?? 0)
    require(lengths < 1 << 20, "the texts of an event have \(lengths) bytes")
    let sum =
      event.typeBytes.byteCount + event.subjectBytes.byteCount + event.actorBytes.byteCount + event.contentTypeBytes.byteCount
      + event.extensionBytes.byteCount + event.data.byteCount
    require(sum + Record.fixedLength == event.record.byteCount, "the fields of an event are not its record")
    _ = (event.time, event.elapsed, event.utcOffsetMinutes, event.clockSource, event.isClockStepped, event.isClockSynchronized)
    _ = (event.isTimeFromCaller, event.timeFractionDigits, event.continuesBatch, event.kind)
    _ = ContentDigest.xxh3.text(ContentDigest.content(of: event))
    if let extensions = try? event.extensions {
      let again = EventExtension.encode(extensions)
      require(again.count <= 3 * event.extensionBytes.byteCount + 3, "extensions grow when they are encoded again")
      // Attributes whose text was not UTF-8 may have become too long.
      if let length = try? EventExtension.encodedLength(extensions) {
        require(length == again.count, "extensions take \(again.count) bytes where \(length) were foretold")
      }
    }
    let copy = event.copy()
    require(copy.offset == event.offset && copy.id == event.id, "a copy of an event differs from it")
  }
}
