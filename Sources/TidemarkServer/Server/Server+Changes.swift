internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

extension Server {
  private static let waitLimit: UInt64 = 60
  /// Of an answer with changes, in bytes; one change may go beyond.
  private static let byteLimit = 4 << 20

  /// Whose changes a call may see: all of the tenant's, or what is meant for one device. The operator says which tenant.
  func tenant(_ call: Call) throws -> (name: String, scope: Scope) {
    let scope = scope(of: call.credential)
    switch call.credential {
    case .device(let device): return (device.tenant, scope)
    case .office(let tenant): return (tenant, scope)
    case .operator:
      guard let tenant = call.target["tenant"], Accounts.isName(tenant) else { throw Problem(.malformed, "name a tenant: ?tenant=") }
      return (tenant, scope)
    }
  }

  private func scope(of credential: Credential) -> Scope {
    guard case .device(let device) = credential else { return .office }
    return .device(device)
  }

  func changes(_ call: Call, _ reply: @escaping Answer) throws {
    let (tenant, scope) = try tenant(call)
    let since = try call.target.number("since", default: 0)
    let limit = try call.target.number("limit", default: 1_000, in: 1...10_000)
    try check(since, tenant, scope)
    let seconds = min(Self.waitLimit, call.request.preferredWait)
    let first = try page(tenant, since, limit, scope)
    let (token, seen) = (bearer(call.request) ?? "", Locked(first.through))
    guard first.isEmpty, seconds > 0 else { return reply(.answer(answer(first, since, scope))) }
    let isHeld = waiting.hold(for: seconds * 1_000_000_000) { [self] isOver in
      do {
        let last = seen.withLock { $0 }
        // The credential may have gone meanwhile, or be for another place.
        let now = try self.scope(of: accounts.credential(token))
        guard try isOver || now != scope || storage.through(of: tenant) > last else { return false }
        let page = try page(tenant, last, limit, scope)
        seen.withLock { $0 = page.through }
        guard isOver || now != scope || !page.isEmpty else { return false }
        reply(.answer(answer(page, since, now)))
      } catch {
        reply(.answer(Self.problem(error).response))
      }
      return true
    }
    if !isHeld { reply(.answer(answer(first, since, scope))) }
  }

  /// Throws for a number that can't be gone on from.
  private func check(_ since: UInt64, _ tenant: String, _ scope: Scope) throws {
    let last = try storage.through(of: tenant)
    if since < floor(last, scope) { throw Problem(.gone, "so far back nothing is kept for devices", snapshot: Self.snapshotPath) }
    if since > last { throw Problem(.gone, "this number was not given", snapshot: Self.snapshotPath) }
  }

  private static let snapshotPath = "/v1/changes/snapshot"

  /// How far back a caller may go on: a device does not need each change to know what is.
  private func floor(_ last: UInt64, _ scope: Scope) -> UInt64 {
    scope == .office ? 0 : last - min(last, options.deviceChanges)
  }

  private struct Page {
    var json: [UInt8] = []
    var isEmpty = true
    var through: UInt64 = 0
    var last: UInt64 = 0
  }

  private func page(_ tenant: String, _ since: UInt64, _ limit: UInt64, _ scope: Scope) throws -> Page {
    var page = Page()
    var json = JSONWriter()
    var count: UInt64 = 0
    json.beginArray()
    page.through = try storage.changes(of: tenant, since: since, withEvents: scope.seesEvents) { change in
      guard count < limit, json.bytes.count < Self.byteLimit else { return false }
      if case .item(_, _, let place, let person, let device) = change, !scope.sees(place: place, person: person, device: device) {
        return true
      }
      change.write(to: &json)
      count += 1
      return true
    }
    json.endArray()
    page.last = max(page.through, try storage.through(of: tenant))
    (page.json, page.isEmpty) = (json.bytes, count == 0)
    return page
  }

  private func answer(_ page: Page, _ since: UInt64, _ scope: Scope) -> HTTPResponse {
    JSONAnswer { json in
      json.member("generation", storage.generation)
      json.member("since", since)
      json.member("through", page.through)
      json.member("last", page.last)
      json.member("floor", floor(page.last, scope))
      scope.write(to: &json)
      json.name("changes")
      json.value(page.json.span)
    }.response()
  }

  func stream(_ call: Call, _ reply: @escaping Answer) throws {
    let (tenant, _) = try tenant(call)
    var response = HTTPResponse(200)
    response.fields["content-type"] = "text/event-stream"
    response.fields["cache-control"] = "no-store"
    let token = bearer(call.request) ?? ""
    let next: @Sendable (UInt64) -> (text: String, number: UInt64)? = { [self] last in
      guard !isClosing, (try? accounts.credential(token)) != nil, let through = try? storage.through(of: tenant) else { return nil }
      guard through != last else { return ("", last) }
      return ("event: through\ndata: \(through)\nid: \(through)\n\n", through)
    }
    // The first number comes at once, unless it is the one that the caller had last.
    let last = call.request.fields["last-event-id"].flatMap { UInt64($0) } ?? UInt64.max
    reply(.stream(response, after: last, next: next))
  }
}

extension HTTPRequest {
  /// Seconds, from `Prefer: wait=S` (RFC 7240); 0 without it.
  fileprivate var preferredWait: UInt64 {
    for preference in (fields["prefer"] ?? "").split(separator: ",") {
      let text = preference.trimmingBlanks.lowercased()
      if text.hasPrefix("wait="), let seconds = UInt64(text.dropFirst("wait=".count)) { return seconds }
    }
    return 0
  }
}

extension Change {
  func write(to json: inout JSONWriter) {
    switch self {
    case .event(let number, let device, let log, let epoch, let event):
      json.beginObject()
      json.member("number", number)
      json.member("kind", "event")
      json.member("log", log)
      json.member("epoch", epoch)
      json.member("offset", event.offset)
      json.member("id", event.id.description)
      json.member("type", event.type)
      if let subject = event.subject { json.member("subject", subject) }
      if let actor = event.actor { json.member("actor", actor) }
      json.member("time", event.time)
      if let contentType = event.contentType { json.member("content_type", contentType) }
      json.member("data", base64: event.data.array())
      json.member("device", device)
      json.endObject()
    case .item(_, let body, _, _, _): json.value(body.span)
    }
  }
}
