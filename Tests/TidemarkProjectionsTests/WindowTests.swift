import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections
import TidemarkText

@Suite struct WindowTests {
  private static let newYork = "EST5EDT,M3.2.0,M11.1.0"
  private static let berlin = "CET-1CEST,M3.5.0,M10.5.0/3"

  /// A database of zones that a rule describes, on a disk of its own.
  private final class Zones {
    let disk = SimulatedDisk()
    var database: TimeZoneDatabase { TimeZoneDatabase(directory: "/zones", files: disk) }

    init() throws {
      for path in ["/zones", "/zones/America", "/zones/Europe"] { try disk.makeDirectory(path) }
      try write("America/New_York", ZoneFile.ofRule(newYork))
      try write("Europe/Berlin", ZoneFile.ofRule(berlin))
    }

    func write(_ name: String, _ bytes: [UInt8]) throws {
      let path = "/zones/\(name)"
      if try disk.status(path) != nil { try disk.remove(path) }
      let file = try disk.open(path, .create)
      try file.write(bytes.rawSpan, at: 0)
      file.close()
    }
  }

  private func definition(_ members: String, _ zones: Zones) throws -> ProjectionDefinition {
    try ProjectionDefinition(json: Array("{\"name\": \"d\", \(members)}".utf8), file: "d.json", zones: zones.database)
  }

  private func time(_ text: String) throws -> Timestamp { Timestamp(nanoseconds: try RFC3339(text).nanoseconds) }

  private func event(_ time: String, _ data: String = "{}", _ number: Int? = nil, superseding: Int? = nil) throws -> NewEvent {
    NewEvent(
      type: "test", time: try self.time(time), id: number.map { id($0) }, extensions: superseding.map { [.supersedes(id($0))] } ?? [],
      data: Array(data.utf8))
  }

  private func rows(_ definition: ProjectionDefinition, _ log: Log) throws -> [String] {
    let state = try ProjectionRunner(definition.projection, of: log).current().state
    #expect(try definition.projection.decode(definition.projection.encode(state)) == state)
    return definition.projection.rows(of: state).map { "\($0.key)=\($0.value)" }
  }

  // MARK: Text

  private func hours(_ rule: String, from first: String, count: Int) throws -> [String] {
    let zones = try Zones()
    try zones.write("Zone", ZoneFile.ofRule(rule))
    let window = TimeWindow(.hour, in: .named(try zones.database.zone(named: "Zone")))
    let start = try time(first).nanoseconds
    return (0..<Int64(count)).map { window.text(at: Timestamp(nanoseconds: start + $0 * 3_600_000_000_000)) }
  }

  @Test func `both clock changes of 2013 in New York: an hour is left out, and one is there twice`() throws {
    #expect(
      try hours(Self.newYork, from: "2013-03-10T06:59:59.999999999Z", count: 2) == ["2013-03-10T01-05:00", "2013-03-10T03-04:00"])
    #expect(
      try hours(Self.newYork, from: "2013-11-03T04:30:00Z", count: 4) == [
        "2013-11-03T00-04:00", "2013-11-03T01-04:00", "2013-11-03T01-05:00", "2013-11-03T02-05:00",
      ])
  }

  @Test func `text order of hours is time order west of Greenwich; east of it the doubled hour is the wrong way round`() throws {
    let west = try hours(Self.newYork, from: "2013-01-01T05:00:00Z", count: 8_760)
    #expect(west == west.sorted() && Set(west).count == 8_760)
    let east = try hours(Self.berlin, from: "2012-12-31T23:00:00Z", count: 8_760)
    let inversions = zip(east, east.dropFirst()).filter { $0 > $1 }
    #expect(Set(east).count == 8_760 && inversions.map(\.0) == ["2013-10-27T02+02:00"] && inversions.map(\.1) == ["2013-10-27T02+01:00"])
  }

  @Test func `where clocks change by half an hour, so do windows`() throws {
    let zones = try Zones()
    try zones.write("Zone", ZoneFile.ofRule("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"))
    let window = TimeWindow(.hour, in: .named(try zones.database.zone(named: "Zone")))
    let texts = try ["14:00:00", "14:59:59", "15:00:00", "15:29:59", "15:30:00"].map { window.text(at: try time("2013-04-06T\($0)Z")) }
    #expect(
      texts == ["2013-04-07T01+11:00", "2013-04-07T01+11:00", "2013-04-07T01+10:30", "2013-04-07T01+10:30", "2013-04-07T02+10:30"])
  }

  @Test func `what was asked before makes no difference`() throws {
    let zones = try Zones()
    let zone = TimeWindow.Zone.named(try zones.database.zone(named: "America/New_York"))
    var random = SeededRandom(seed: 3)
    for unit in TimeWindow.Unit.allCases {
      let kept = TimeWindow(unit, in: zone)
      let stated = TimeWindow(unit, in: .stated)
      for number in 0..<2_000 {
        let base: Int64 = number < 1_000 ? 1_383_436_800 : 1_362_873_600
        let time = Timestamp(nanoseconds: (base + Int64(random.number(below: 100_000))) * 1_000_000_000 - 1)
        #expect(kept.text(at: time) == TimeWindow(unit, in: zone).text(at: time))
        let offset = Int16(random.number(below: 3) * 60 - 60)
        #expect(stated.text(at: time, utcOffsetMinutes: offset) == TimeWindow(unit, in: .stated).text(at: time, utcOffsetMinutes: offset))
      }
    }
  }

  @Test func `the ends of time have windows`() {
    for unit in TimeWindow.Unit.allCases {
      let window = TimeWindow(unit, in: .stated)
      for offset in [Int16.min, -1_439, 0, 1_439, .max] {
        #expect(window.text(at: Timestamp(nanoseconds: .min), utcOffsetMinutes: offset).hasPrefix("1677-09-2"))
        #expect(window.text(at: Timestamp(nanoseconds: .max), utcOffsetMinutes: offset).hasPrefix("2262-04-1"))
      }
    }
  }

  // MARK: Definitions

  @Test func `days of clock changes have 23 and 25 hours, and every fold has windows`() throws {
    let fixture = try Fixture()
    let zones = try Zones()
    for first in ["2013-03-10T05:00:00Z", "2013-11-03T04:00:00Z"] {
      let start = try time(first).nanoseconds
      for hour in 0..<26 as Range<Int64> {
        try fixture.log.append(
          NewEvent(
            type: "test", time: Timestamp(nanoseconds: start + hour * 3_600_000_000_000),
            data: Array(#"{"k":"a","v":\#(hour)}"#.utf8)))
      }
    }
    let window = #""window": {"unit": "day", "zone": "America/New_York"}, "key": ["/k"], "#
    let days = ["2013-03-10", "2013-03-11", "2013-11-03", "2013-11-04"].map { #"["a","\#($0)"]"# }
    let expected = [
      "count": ["23", "3", "25", "1"], "sum": ["253", "72", "300", "25"], "average": ["11", "24", "12", "25"],
      "minimum": ["0", "23", "0", "25"], "maximum": ["22", "25", "24", "25"], "latest": ["22", "25", "24", "25"],
    ]
    for fold in ProjectionDefinition.Fold.allCases where fold != .presence && fold != .acknowledgements {
      let value = fold == .count ? "" : #""value": "/v", "#
      let definition = try definition(#"\#(window)\#(value)"fold": "\#(fold.rawValue)""#, zones)
      #expect(try rows(definition, fixture.log) == zip(days, expected[fold.rawValue] ?? []).map { "\($0)=\($1)" })
    }
  }

  @Test func `a window may be the whole key, and needs no database in UTC and by stated offsets`() throws {
    let fixture = try Fixture()
    for (time, data) in [
      ("2013-11-03T23:59:59Z", #"{"t":"2013-11-03T23:59:59+02:00"}"#), ("2013-11-04T00:00:00Z", #"{"t":"2013-11-03T01:30:00-04:00"}"#),
      ("2013-11-04T00:00:01Z", #"{"t":"2013-11-03T01:30:00-05:00"}"#),
    ] {
      try fixture.log.append(event(time, data))
    }
    let none = TimeZoneDatabase(directory: "/nowhere", files: SimulatedDisk())
    func rows(_ window: String) throws -> [String] {
      try self.rows(
        ProjectionDefinition(json: Array(#"{"name": "d", "fold": "count", "window": {\#(window)}}"#.utf8), zones: none), fixture.log)
    }
    #expect(try rows(#""unit": "day", "zone": "UTC""#) == ["2013-11-03=1", "2013-11-04=2"])
    #expect(try rows(#""unit": "hour", "zone": "UTC""#) == ["2013-11-03T23+00:00=1", "2013-11-04T00+00:00=2"])
    #expect(
      try rows(#""unit": "hour", "zone": "UTC", "time": "/t""#) == [
        "2013-11-03T05+00:00=1", "2013-11-03T06+00:00=1", "2013-11-03T21+00:00=1",
      ])
    #expect(
      try rows(#""unit": "hour", "zone": "@offset", "time": "/t""#) == [
        "2013-11-03T01-04:00=1", "2013-11-03T01-05:00=1", "2013-11-03T23+02:00=1",
      ])
  }

  @Test(arguments: ["{}", #"{"t":"2013-11-03 01:30"}"#, #"{"t":"2013-11-03T01:30:00"}"#, #"{"t":1383456600}"#, #"{"t":null}"#])
  func `a time without offset, or none, can't be read`(_ data: String) throws {
    let fixture = try Fixture()
    try fixture.log.append(event("2013-11-03T00:00:00Z", data))
    let definition = try definition(#""fold": "count", "window": {"unit": "day", "zone": "UTC", "time": "/t"}"#, Zones())
    let found = error { _ = try rows(definition, fixture.log) }
    #expect(found?.code == .unreadableEvent && found?.why.contains("/t") ?? false)
  }

  @Test func `a window and the latest by a stated time go by their own times`() throws {
    let fixture = try Fixture()
    for (t, u) in [("2013-01-01", "2013-05-02"), ("2013-01-01", "2013-05-01"), ("2013-01-02", "2013-05-01")] {
      try fixture.log.append(event("2020-01-01T00:00:00Z", #"{"t":"\#(t)T00:00:00Z","u":"\#(u)T00:00:00Z","v":"\#(u)"}"#))
    }
    let definition = try definition(
      #""fold": "latest", "value": "/v", "time": "/u", "window": {"unit": "day", "zone": "UTC", "time": "/t"}"#, Zones())
    #expect(try rows(definition, fixture.log) == ["2013-01-01=2013-05-02", "2013-01-02=2013-05-01"])
  }

  /// Where the window's member begins.
  @Test(arguments: [
    (#""day""#, 0, "object"), ("{}", 0, "\"unit\" is missing"), (#"{"unit": "week", "zone": "UTC"}"#, 9, "one of"),
    (#"{"unit": "day"}"#, 0, "\"zone\" is missing"), (#"{"unit": "day", "zone": 1}"#, 24, "string"),
    (#"{"unit": "day", "zone": "../UTC"}"#, 24, "no name"), (#"{"unit": "day", "zone": "@offset"}"#, 24, "\"time\""),
    (#"{"unit": "day", "zone": "UTC", "time": "t"}"#, 39, "JSON Pointer"), (#"{"unit": "day", "zone": "UTC", "day": 1}"#, 31, "no member"),
    (#"{"unit": "day", "zone": "UTC", "unit": "day"}"#, 31, "twice"),
  ])
  func `what is wrong with a window is said, and where`(_ window: String, _ position: UInt64, _ why: String) throws {
    let start = #"{"name": "d", "fold": "count", "window": "#
    let zones = try Zones()
    let found = error { _ = try ProjectionDefinition(json: Array("\(start)\(window)}".utf8), zones: zones.database) }
    let isMissing = why.contains("missing")
    #expect(
      found?.code == .invalidArgument && found?.position == (isMissing ? 0 : position + UInt64(start.utf8.count)),
      "\(String(describing: found))")
    #expect(found?.why.contains(why) ?? false, "\(String(describing: found))")
  }

  @Test func `another window is another version; none is as before`() throws {
    let zones = try Zones()
    var versions: Set<UInt32> = []
    for window in [
      "", #", "window": {"unit": "day", "zone": "UTC"}"#, #", "window": {"unit": "hour", "zone": "UTC"}"#,
      #", "window": {"unit": "day", "zone": "Europe/Berlin"}"#, #", "window": {"unit": "day", "zone": "UTC", "time": ""}"#,
      #", "window": {"unit": "day", "zone": "UTC", "time": "/t"}"#, #", "window": {"unit": "day", "zone": "@offset", "time": "/t"}"#,
    ] {
      versions.insert(try definition(#""key": ["/k"], "fold": "count"\#(window)"#, zones).projection.version)
    }
    #expect(versions.count == 7)
  }

  // MARK: Corrections

  @Test func `an amendment stays in the window of its original, unless the data state the time`() throws {
    for fold in ["sum", "maximum", "latest"] {
      let fixture = try Fixture()
      let zones = try Zones()
      let start = #""value": "/v", "fold": "\#(fold)", "window": {"unit": "day", "zone": "America/New_York""#
      let own = try definition(start + "}", zones).projection
      let stated = try ProjectionDefinition(
        json: Array(#"{"name": "e", \#(start), "time": "/t"}}"#.utf8), zones: zones.database
      ).projection
      let runners = try (ProjectionRunner(own, of: fixture.log), ProjectionRunner(stated, of: fixture.log))
      func both() throws -> [[String]] {
        [own.rows(of: try runners.0.current().state), stated.rows(of: try runners.1.current().state)].map {
          $0.map { "\($0.key)=\($0.value)" }
        }
      }
      // Half past eleven in the evening of 2 November, in New York.
      try fixture.log.append(event("2013-11-03T03:30:00Z", #"{"v":1,"t":"2013-11-02T23:30:00-04:00"}"#, 1))
      #expect(try both() == [["2013-11-02=1"], ["2013-11-02=1"]])
      try fixture.log.append(event("2013-11-09T12:00:00Z", #"{"v":5,"t":"2013-11-03T00:30:00-04:00"}"#, 2, superseding: 1))
      #expect(try both() == [["2013-11-02=5"], ["2013-11-03=5"]])
      // One whose original comes later is in its own window until then.
      try fixture.log.append(event("2013-11-08T12:00:00Z", #"{"v":7,"t":"2013-11-05T00:30:00-05:00"}"#, 4, superseding: 3))
      #expect(try both() == [["2013-11-02=5", "2013-11-08=7"], ["2013-11-03=5", "2013-11-05=7"]])
      try fixture.log.append(event("2013-11-07T12:00:00Z", #"{"v":6,"t":"2013-11-06T00:30:00-05:00"}"#, 3))
      #expect(try both() == [["2013-11-02=5", "2013-11-07=7"], ["2013-11-03=5", "2013-11-05=7"]])
      #expect(try rows(own.definition, fixture.log) == both()[0] && rows(stated.definition, fixture.log) == both()[1])
    }
  }

  // MARK: The database

  @Test func `a snapshot by other rules is folded again; another release with the same rules is not`() throws {
    let fixture = try Fixture()
    let zones = try Zones()
    try zones.write("tzdata.zi", Array("# version 2024b\nR".utf8))
    for hour in 0..<6 { try fixture.log.append(event("2013-11-03T0\(hour):30:00Z")) }
    func runner() throws -> (ProjectionRunner<DefinedProjection>, [String]) {
      let definition = try definition(#""fold": "count", "window": {"unit": "day", "zone": "America/New_York"}"#, zones)
      let runner = try ProjectionRunner(definition.projection, of: fixture.log)
      return (runner, definition.projection.rows(of: try runner.current().state).map { "\($0.key)=\($0.value)" })
    }
    #expect(try runner().0.save())
    let files = fixture.disk.image.files(under: "/log/projections")
    #expect(files.count == 1)

    try zones.write("tzdata.zi", Array("# version 2025a\nR".utf8))
    let same = try runner().0
    #expect(try same.report.discardedSnapshots.isEmpty && same.state().timeZoneDatabaseVersion == "2024b")

    try zones.write("America/New_York", ZoneFile.ofRule("EST5"))
    let (fresh, found) = try runner()
    #expect(found == ["2013-11-02=5", "2013-11-03=1"])
    #expect(fresh.report.discardedSnapshots.first?.why.contains("version") == true)
    #expect(try fresh.state().timeZoneDatabaseVersion == "2025a")
    #expect(try fresh.save() && runner().0.report.discardedSnapshots.isEmpty)
  }

  @Test func `the release is read from either of two files, or unknown`() throws {
    let zones = try Zones()
    #expect(try zones.database.version == nil && zones.database.zone(named: "Europe/Berlin").databaseVersion == "unknown")
    try zones.write("+VERSION", Array("2023d\n".utf8))
    #expect(zones.database.version == "2023d")
    try zones.write("tzdata.zi", Array("# no version".utf8))
    #expect(zones.database.version == "2023d")
    try zones.write("tzdata.zi", Array("# version 2024b-rearguard\nR".utf8))
    #expect(zones.database.version == "2024b-rearguard")
    for garbage in ["# version ", "# version \n", "# version \u{7F}\u{1F}"] {
      try zones.write("tzdata.zi", Array(garbage.utf8))
      #expect(zones.database.version == nil)
    }
  }

  @Test(arguments: [
    "", "/", "Europe", "Europe/", "/Europe/Berlin", "Europe//Berlin", "europe/berlin", "Europe/berlin", "../zones/Europe/Berlin",
    "Europe/../Europe/Berlin", "Europe/Berlin/", "Europe/Berlin/Mitte", "tzdata.zi", "Europe/Berlin\0", "Europe\\Berlin", "Oslo",
    String(repeating: "A", count: 5_000),
  ])
  func `names that are none, or not there, are refused`(_ name: String) throws {
    let zones = try Zones()
    #expect(error { _ = try zones.database.zone(named: name) }?.code == .unknownTimeZone)
    let nowhere = TimeZoneDatabase(directory: "/nowhere", files: SimulatedDisk())
    #expect(error { _ = try nowhere.zone(named: name) }?.code == .unknownTimeZone)
  }

  @Test func `a name in another case is refused also where the file system would open it`() throws {
    let zones = try Zones()
    for path in ["/zones/europe", "/zones/america"] { try zones.disk.makeDirectory(path) }
    try zones.write("europe/berlin", ZoneFile.ofRule(Self.berlin))
    let database = TimeZoneDatabase(directory: "/zones", files: CaseBlind(zones.disk))
    #expect(try database.zone(named: "Europe/Berlin").name == "Europe/Berlin")
    for name in ["europe/berlin", "Europe/BERLIN", "EUROPE/Berlin"] {
      #expect(error { _ = try database.zone(named: name) }?.code == .unknownTimeZone)
    }
  }

  @Test func `a damaged file is an error with file and position`() throws {
    let zones = try Zones()
    try zones.write("Europe/Berlin", Array(ZoneFile.ofRule(Self.berlin).dropLast()))
    let found = error { _ = try zones.database.zone(named: "Europe/Berlin") }
    #expect(
      found?.code == .damagedTimeZone && found?.file == "/zones/Europe/Berlin" && found?.position == 135, "\(String(describing: found))")
    try zones.write("Europe/Berlin", [UInt8](repeating: 0, count: 1 << 20 + 1))
    #expect(error { _ = try zones.database.zone(named: "Europe/Berlin") }?.code == .damagedTimeZone)
    try zones.write("Europe/Berlin", [])
    #expect(
      error { _ = try definition(#""fold": "count", "window": {"unit": "day", "zone": "Europe/Berlin"}"#, zones) }?.code == .damagedTimeZone
    )
  }
}

/// A disk that does not tell upper from lower case, and lists names as they were first given.
private final class CaseBlind: FileSystem {
  private let disk: SimulatedDisk

  init(_ disk: SimulatedDisk) { self.disk = disk }

  func open(_ path: String, _ mode: OpenMode) throws(LogError) -> any File { try disk.open(path.lowercased(), mode) }
  func list(_ directory: String) throws(LogError) -> [String] {
    try disk.list(directory.lowercased()).map { $0.prefix(1).uppercased() + $0.dropFirst() }
  }
  func status(_ path: String) throws(LogError) -> FileStatus? { try disk.status(path.lowercased()) }
  func makeDirectory(_ path: String) throws(LogError) { try disk.makeDirectory(path.lowercased()) }
  func rename(_ path: String, to newPath: String) throws(LogError) { try disk.rename(path.lowercased(), to: newPath.lowercased()) }
  func remove(_ path: String) throws(LogError) { try disk.remove(path.lowercased()) }
  func syncDirectory(_ path: String) throws(LogError) { try disk.syncDirectory(path.lowercased()) }
  func lock(_ path: String, holder: String) throws(LogError) -> any FileLock { try disk.lock(path.lowercased(), holder: holder) }
  func sharedPage(_ path: String, writable: Bool) throws(LogError) -> SharedPage? {
    try disk.sharedPage(path.lowercased(), writable: writable)
  }
}
