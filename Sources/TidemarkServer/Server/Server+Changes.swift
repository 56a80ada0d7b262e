internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

extension Server {
  private static let waitLimit: UInt64 = 60
  /// Of an answer with changes, in bytes; one change may go beyond.
  private static let byteLimit = 4 << 20

  /// Whose changes a call may see: all of the tenant's, or what is meant for one device. The operator says which tenant.
  func tenant(_ call: Call) throws -> (name: String, scope: Scope) {
    switch call.credential {
    case .device(let device): return (device.tenant, .device(device))
    case .office(let tenant): return (tenant, .office)
    case .operator:
      guard let tenant = call.target["tenant"], Accounts.isName(tenant) else { throw Problem(.malformed, "name a tenant: ?tenant=") }
      return (tenant, .office)
    }
  }

  func changes(_ call: Call, _ reply: @escaping Answer) throws {
    let (tenant, scope) = try tenant(call)
    let since = try call.target.number("since", default: 0)
    let limit = try call.target.number("limit", default: 1_000, in: 1...10_000)
    let seconds = min(Self.waitLimit, call.request.preferredWait)
    if try storage.through(of: tenant) <= since, seconds > 0 {
      let token = bearer(call.request)
      let isHeld = waiting.hold(for: seconds * 1_000_000_000) { [self] isOver in
        do {
          guard try isOver || storage.through(of: tenant) > since else { return false }
          // The credential may have gone meanwhile.
          _ = try accounts.credential(token ?? "")
          reply(.answer(try page(tenant, since, limit, scope)))
        } catch {
          reply(.answer(Self.problem(error).response))
        }
        return true
      }
      if isHeld { return }
    }
    reply(.answer(try page(tenant, since, limit, scope)))
  }

  private func page(_ tenant: String, _ since: UInt64, _ limit: UInt64, _ scope: Scope) throws -> HTTPResponse {
    var json = JSONWriter()
    var count: UInt64 = 0
    json.beginArray()
    let through = try storage.changes(of: tenant, since: since, withEvents: scope.seesEvents) { change in
      guard count < limit, json.bytes.count < Self.byteLimit else { return false }
      if case .item(_, _, let place, let person, let device) = change, !scope.sees(place: place, person: person, device: device) {
        return true
      }
      change.write(to: &json)
      count += 1
      return true
    }
    json.endArray()
    return JSONAnswer { answer in
      answer.member("generation", storage.generation)
      answer.member("since", since)
      answer.member("through", through)
      answer.member("floor", 0)
      answer.name("changes")
      answer.value(json.bytes.span)
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
