import TestSupport
import Testing
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

/// When a device asks what the server has, and what it makes of the answers.
@Suite("Fetching") struct PullerTests {
  private static let second: UInt64 = 1_000_000_000
  private let puller: Puller
  private let log: Log
  private let shipping: Locked<Status>

  init() throws {
    let environment = Environment.simulated(SimulatedDisk(), seed: 5)
    var options = LogOptions()
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    log = try ReceivedLog.open(at: "/received", options: options, environment: environment)
    var status = Status(log: EventID(high: 1, low: 1))
    status.state = .idle
    let shipping = Locked(status)
    self.shipping = shipping
    puller = Puller(try ReceivedLog(log)) { [shipping.withLock { $0 }] }
    puller.start()
  }

  private func answer(
    _ through: Int, last: Int? = nil, generation: Int = 1, more: String = "", _ list: String = "changes", _ entries: String = ""
  ) -> HTTPResponse {
    let generation = EventID(high: 9, low: UInt64(generation)).hexadecimal
    let json = #"{"generation":"\#(generation)","through":\#(through),"last":\#(last ?? through)\#(more),"\#(list)":[\#(entries)]}"#
    var response = HTTPResponse(200, body: Array(json.utf8))
    response.fields["content-type"] = MediaType.answer
    return response
  }

  private func item(_ number: Int, _ version: Int = 1) -> String {
    let start = #"{"number":\#(number),"kind":"item","item":"a","version":\#(version)"#
    return start + #","material_version":1,"content":1,"published":"2026-01-01T00:00:00Z"}"#
  }

  private func conditions(_ change: (inout Conditions) -> Void = { _ in }) -> Conditions {
    var conditions = Conditions()
    change(&conditions)
    return conditions
  }

  /// Takes a step of time, and gives the request if one is wanted.
  private func request(at seconds: UInt64, _ conditions: Conditions = Conditions()) -> HTTPRequest? {
    puller.update(conditions, now: seconds * Self.second)
    return puller.isWanting ? puller.makeRequest(now: seconds * Self.second) : nil
  }

  @Test("over a free network the server holds the question, once the device has all") func holds() throws {
    var asked = try #require(request(at: 1))
    #expect(asked.target == "/v1/changes?since=0" && asked.fields["prefer"] == nil)
    puller.received(answer(3, last: 9, "changes", item(3)), now: Self.second)
    asked = try #require(request(at: 1))
    #expect(asked.target == "/v1/changes?since=3" && asked.fields["prefer"] == nil)
    puller.received(answer(9), now: Self.second)
    puller.update(Conditions(), now: Self.second)
    #expect(puller.reception.isCurrent && puller.reception.through == 9)
    asked = try #require(request(at: 1))
    #expect(asked.target == "/v1/changes?since=9" && asked.fields["prefer"] == "wait=50")
    // One that does not hold it is not asked again at once.
    puller.received(answer(9), now: Self.second)
    #expect(request(at: 1) == nil && request(at: 2)?.fields["prefer"] == "wait=50")
    // What this device ships is asked about without waiting.
    puller.received(answer(10, "changes", item(10, 2)), now: 30 * Self.second)
    shipping.withLock { $0.accepted = 5 }
    #expect(request(at: 30)?.fields["prefer"] == nil)
    #expect(!puller.reception.isCurrent)
    puller.received(answer(10), now: 30 * Self.second)
    puller.update(Conditions(), now: 30 * Self.second)
    #expect(puller.reception.isCurrent)
  }

  @Test("other networks: now and then, and after something was accepted") func intervals() throws {
    let metered = conditions { $0.isMetered = true }
    #expect(request(at: 1, metered) != nil)
    puller.received(answer(1), now: Self.second)
    #expect(request(at: 300, metered) == nil && request(at: 302, metered) != nil)
    puller.received(answer(1), now: 302 * Self.second)
    shipping.withLock { $0.accepted = 5 }
    #expect(request(at: 310, metered) == nil && request(at: 313, metered)?.fields["prefer"] == nil)
    let saving = conditions { $0.batteryPercent = 5 }
    puller.received(answer(1), now: 313 * Self.second)
    _ = request(at: 613, saving)
    puller.received(answer(1), now: 613 * Self.second)
    #expect(request(at: 1_400, saving) == nil && request(at: 1_514, saving) != nil)
  }

  @Test("without a network nothing is asked; when it is there, at once") func reachability() throws {
    let none = conditions { $0.isReachable = false }
    #expect(request(at: 1, none) == nil && request(at: 5_000, none) == nil)
    #expect(request(at: 5_001) != nil)
  }

  @Test("answers that are not the server's are failures, tried again") func failures() throws {
    var portal = HTTPResponse(200, body: Array("<html>".utf8))
    portal.fields["content-type"] = "text/html"
    var wrong = answer(3)
    wrong.fields["content-type"] = "application/json"
    var now: UInt64 = 1
    for response in [portal, wrong, HTTPResponse(502), answer(3, more: #","changes":7"#, "other"), HTTPResponse(302)] {
      #expect(request(at: now) != nil)
      puller.received(response, now: now * Self.second)
      #expect(puller.reception.trouble?.category == .transport && puller.deadline != nil)
      now += 400
    }
    #expect(request(at: now) != nil)
    puller.failed("no answer", now: now * Self.second)
    #expect(request(at: now + 400) != nil)
    puller.received(answer(3), now: (now + 400) * Self.second)
    #expect(puller.reception.trouble == nil && puller.reception.through == 3)
  }

  @Test("refusals") func refusals() throws {
    #expect(request(at: 1) != nil)
    puller.received(Problem(.tooMany, "", retryAfter: 77).response, now: Self.second)
    #expect(request(at: 77) == nil && request(at: 78) != nil)
    // A refused token: at once again, with a new one; then as a failure.
    puller.received(Problem(.unauthorized, "").response, now: 78 * Self.second)
    #expect(request(at: 78) != nil)
    puller.received(Problem(.unauthorized, "").response, now: 78 * Self.second)
    #expect(puller.reception.trouble?.category == .auth)
    #expect(request(at: 500) != nil)
    puller.received(Problem(.revoked, "").response, now: 500 * Self.second)
    #expect(request(at: 500_000) == nil && puller.deadline == nil)
    puller.start()
    #expect(request(at: 500_001) != nil)
  }

  @Test("begins anew: too far back, another generation, another place, a number that was another change") func snapshots() throws {
    #expect(request(at: 1) != nil)
    puller.received(Problem(.gone, "", snapshot: "/v1/changes/snapshot").response, now: Self.second)
    #expect(request(at: 1)?.target == "/v1/changes/snapshot")
    puller.received(answer(7, "items", item(7)), now: Self.second)
    // Another generation.
    #expect(request(at: 2)?.target == "/v1/changes?since=7")
    puller.received(answer(8, generation: 2), now: 2 * Self.second)
    #expect(request(at: 2)?.target == "/v1/changes/snapshot")
    puller.received(answer(4, generation: 2, "items", item(4)), now: 2 * Self.second)
    // Another place.
    #expect(request(at: 3)?.target == "/v1/changes?since=4")
    puller.received(answer(5, generation: 2, more: #","place":"gate""#), now: 3 * Self.second)
    #expect(request(at: 3)?.target == "/v1/changes/snapshot")
    puller.received(answer(5, generation: 2, more: #","place":"gate""#, "items"), now: 3 * Self.second)
    // The same number, and another change.
    #expect(request(at: 4) != nil)
    puller.received(answer(6, generation: 2, more: #","place":"gate""#, "changes", item(6)), now: 4 * Self.second)
    #expect(request(at: 5)?.target == "/v1/changes?since=6")
    puller.received(answer(7, generation: 2, more: #","place":"gate""#, "changes", item(6, 2)), now: 5 * Self.second)
    #expect(request(at: 5)?.target == "/v1/changes/snapshot")
  }

  @Test("an answer is kept whole or not at all, and a full disk is told and tried again") func storage() throws {
    let disk = SimulatedDisk()
    let environment = Environment.simulated(disk, seed: 6)
    let log = try ReceivedLog.open(at: "/received", options: LogOptions(), environment: environment)
    let puller = Puller(try ReceivedLog(log)) { [] }
    puller.start()
    puller.update(Conditions(), now: 1)
    _ = puller.makeRequest(now: 1)
    disk.plan = FaultPlan(.error(28), during: disk.callCount...Int.max, only: Calls.writing.union(.sync))
    puller.received(answer(2, "changes", [item(1), item(2, 2)].joined(separator: ",")), now: 1)
    #expect(puller.reception.trouble?.category == .storage && puller.reception.through == 0)
    disk.plan = FaultPlan()
    puller.update(Conditions(), now: 400 * Self.second)
    _ = puller.makeRequest(now: 400 * Self.second)
    puller.received(answer(2, "changes", [item(1), item(2, 2)].joined(separator: ",")), now: 400 * Self.second)
    #expect(puller.reception.trouble == nil && puller.reception.through == 2)
    #expect(try log.events(in: log.first..<log.size).count == 3)
  }
}
