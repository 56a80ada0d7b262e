import TestSupport
import Testing
import TidemarkLog

/// Each kind of bad input has an error code of its own; each error names what, where, why, and what to do.
@Suite struct ErrorTests {
  /// Opens a log that stands in a file system of a few entries.
  private static func open(_ path: String, _ prepare: (SimulatedDisk) throws -> Void) throws -> LogError? {
    let fixture = try Fixture()
    try fixture.log.append([event("a"), event("b", id: id(1))])
    try fixture.log.close()
    try prepare(fixture.disk)
    return error { _ = try Log.open(at: path, options: fixture.options, environment: fixture.environment) }
  }

  private static func append(_ event: NewEvent, _ prepare: (Fixture) throws -> Void = { _ in }) throws -> LogError? {
    let fixture = try Fixture()
    try fixture.log.append(NewEvent(type: "t", id: id(1)))
    try prepare(fixture)
    return error { try fixture.log.append(event) }
  }

  private static func read(_ body: (Fixture) throws -> Void) throws -> LogError? {
    let fixture = try Fixture()
    for segment in 0..<2 {
      try fixture.log.append((0..<5).map { event("\(segment)-\($0)") })
      try fixture.log.seal()
    }
    return error { try body(fixture) }
  }

  /// Code, whether a file and a position are named, and how to get there.
  private static let cases: [(LogError.Code, file: Bool, position: Bool, @Sendable () throws -> LogError?)] = [
    (.notADirectory, true, false, { try open("/log/identity") { _ in } }),
    (.notALog, true, false, { try open("/log/torn") { _ in } }),
    (.notALog, true, false, { try open("/missing") { _ in } }),
    (
      .alreadyExists, true, false,
      {
        let fixture = try Fixture()
        return error { try Log.create(at: "/log", options: fixture.options, environment: fixture.environment) }
      }
    ),
    (
      .locked, true, false,
      {
        let fixture = try Fixture()
        return error { _ = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment) }
      }
    ),
    (.readOnlyFileSystem, true, false, { try open("/log") { $0.writeRefusal = DiskError.readOnlyFileSystem } }),
    (.permissionDenied, true, false, { try open("/log") { $0.writeRefusal = DiskError.accessDenied } }),
    (.io, true, true, { try open("/log") { $0.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max, only: .read) } }),
    (.tooLarge, false, false, { try append(NewEvent(type: "t", data: [UInt8](repeating: 0, count: 2 << 20))) }),
    (.stringTooLong, false, false, { try append(NewEvent(type: String(repeating: "x", count: 256))) }),
    (.invalidEvent, false, false, { try append(NewEvent(type: "")) }),
    (.conflict, false, false, { try append(NewEvent(type: "u", id: id(1))) }),
    (.closed, true, false, { try append(NewEvent(type: "t")) { try $0.log.close() } }),
    (.diskFull, true, true, { try append(NewEvent(type: "t")) { fault($0, .shortWrite(byteCount: 3, errno: DiskError.noSpace), .write) } }),
    (.outcomeUnknown, true, false, { try append(NewEvent(type: "t")) { fault($0, .failedSync(.dropsPages), .sync) } }),
    (.offsetOutOfRange, false, false, { try read { _ = try $0.log.event(at: 11) } }),
    (.offsetOutOfRange, false, false, { try read { _ = try $0.log.events(in: 3..<12) } }),
    (
      .trimmed, false, false,
      {
        try read {
          try $0.log.trim(below: 8)
          _ = try $0.log.event(at: 2)
        }
      }
    ),
    (
      .corrupt, true, true,
      {
        try read {
          try $0.log.close()
          try $0.disk.image.flipBit(4200 * 8, of: $0.segmentFiles[0])
          try $0.reopen()
          _ = try $0.log.event(at: 2)
        }
      }
    ),
    (
      .unexpectedSize, false, false,
      {
        let fixture = try Fixture()
        try fixture.log.append(event("a"))
        return error { try fixture.log.append(event("b"), expecting: 0) }
      }
    ),
    (
      .readOnly, true, false,
      {
        let reader = try Fixture().reader()
        return error { try reader.append(event("a")) }
      }
    ),
    (
      .invalidArgument, false, false,
      {
        var options = LogOptions()
        options.segmentByteCount = 1
        return error { try Log.create(at: "/log", options: options, environment: .simulated(SimulatedDisk(), seed: 1)) }
      }
    ),
  ]

  private static func fault(_ fixture: Fixture, _ fault: Fault, _ kinds: Calls) {
    fixture.disk.plan = FaultPlan(fault, during: 0...Int.max, only: kinds)
  }

  @Test(arguments: cases.indices)
  func `a kind of trouble has its code, place, reason and advice`(_ index: Int) throws {
    let (code, hasFile, hasPosition, make) = Self.cases[index]
    let error = try #require(try make())
    #expect(error.code == code)
    #expect((error.file != nil) == hasFile && (!hasPosition || error.position != nil))
    #expect(
      !error.what.isEmpty && (!error.why.isEmpty || code == .invalidEvent || code == .alreadyExists || code == .closed || code == .readOnly)
    )
    // The simulated disk gives no advice with its own errors; the real one does, see below.
    if error.errno == nil { #expect(!error.advice.isEmpty) }
  }

  @Test func `errors of the system are sorted by what a caller can do about them`() throws {
    let folder = try TemporaryFolder()
    let files = POSIXFileSystem()
    func check(_ code: LogError.Code, _ errno: Int32, _ body: () throws -> Void) {
      let thrown = error(body)
      #expect(thrown?.code == code && thrown?.errno == errno)
      #expect(thrown?.file?.hasPrefix(folder.path) == true && thrown?.why.isEmpty == false && thrown?.advice.isEmpty == false)
    }
    check(.io, DiskError.noEntry) { _ = try files.open(folder.path + "/none", .read) }
    let file = try files.open(folder.path + "/new", .create)
    check(.notADirectory, DiskError.notADirectory) { _ = try files.list(folder.path + "/new") }
    check(.io, DiskError.exists) { _ = try files.open(folder.path + "/new", .create) }
    check(.notADirectory, DiskError.notADirectory) { _ = try files.status(folder.path + "/new/inside") }
    file.close()
    file.close()
    check(.io, DiskError.badDescriptor) { try file.write([1, 2, 3].rawSpan, at: 0) }
    check(.io, DiskError.badDescriptor) { try file.sync() }
    check(.io, DiskError.badDescriptor) { _ = try file.byteCount() }
  }

  @Test func `an error reads as what, where, why, and what to do`() {
    let full = LogError(.corrupt, "history is damaged", file: "a.open", position: 12, offsets: 3..<5, why: "no frame", advice: "verify")
    #expect(full.description == "history is damaged (a.open, byte 12), offsets 3..<5: no frame; verify")
    #expect(LogError(.closed, "the log is closed").description == "the log is closed")
    #expect(LogError(.io, "cannot read", position: 7, why: "no").description == "cannot read (position 7): no")
    #expect(LogError(.conflict, "x") == LogError(.conflict, "x") && LogError.Code(rawValue: "closed") == .closed)
  }
}
