internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

extension Server {
  /// `/v1/admin/...`: with the operator's credential.
  func administrate(_ call: Call, _ reply: @escaping Answer) throws {
    let path = Array(call.target.path.dropFirst(2))
    if case .office = call.credential, path.first == "items" {
    } else {
      guard call.credential == .operator else { throw Problem(.notPermitted, "that is for the operator") }
    }
    switch (call.request.method, path.first, path.count) {
    case ("POST", "tenants", 1): reply(.answer(try makeTenant(call.request.object())))
    case ("POST", "codes", 1): reply(.answer(try makeCode(call.request.object())))
    case ("POST", "tokens", 1): reply(.answer(try makeToken(call.request.object())))
    case ("DELETE", "tokens", 2): reply(.answer(try removeToken(path[1], call.target["tenant"] ?? "")))
    case ("GET", "devices", 1): reply(.answer(try devices(tenant(of: call.target))))
    case ("POST", "devices", 3): reply(.answer(try setState(path[1], path[2])))
    case ("GET", "attachments", 1): reply(.answer(try attachments(tenant(of: call.target))))
    case ("GET", "quarantine", 1): reply(.answer(try quarantine(tenant(of: call.target))))
    case ("POST", "quarantine", 4): try judge(path[1], path[2], path[3], reply)
    case ("POST", "items", 1): try changeItem(call, .publish, nil, reply)
    case ("DELETE", "items", 2): try changeItem(call, .remove, path[1], reply)
    case ("POST", "items", 3):
      guard path[2] == "waive" else { throw Problem(.notFound, "there is no such action") }
      try changeItem(call, .waive, path[1], reply)
    case ("GET", "logs", 1): reply(.answer(Self.logs(try storage.positions(of: nil))))
    case ("POST", "archive", 1): try archive(call, reply)
    case ("GET", "changes", 1): try changes(call, reply)
    default:
      guard let allowed = Self.adminMethods["\(path.first ?? "")/\(path.count)"] else { throw Problem(.notFound, "there is no such call") }
      throw Problem.method(allowed)
    }
  }

  /// By the first part of the path and the number of parts.
  private static let adminMethods = [
    "tenants/1": "POST", "codes/1": "POST", "tokens/1": "POST", "devices/1": "GET", "devices/3": "POST", "quarantine/1": "GET",
    "quarantine/4": "POST", "logs/1": "GET", "changes/1": "GET", "tokens/2": "DELETE", "items/1": "POST", "items/2": "DELETE",
    "items/3": "POST", "archive/1": "POST", "attachments/1": "GET",
  ]

  /// The tenant that a list is to be of; nil for all.
  private func tenant(of target: Target) throws -> String? {
    guard let tenant = target["tenant"] else { return nil }
    guard Accounts.isName(tenant) else { throw Problem(.malformed, "\"tenant\" is no tenant's name") }
    return tenant
  }

  private func makeTenant(_ body: JSONObject) throws -> HTTPResponse {
    let name = try body.string("tenant", upTo: 64)
    try accounts.makeTenant(name)
    return JSONAnswer { $0.member("tenant", name) }.response(201)
  }

  private func makeCode(_ body: JSONObject) throws -> HTTPResponse {
    let (code, expires) = try accounts.makeCode(
      tenant: try body.string("tenant", upTo: 64), name: try body.optionalLabel("name") ?? "",
      place: try body.optionalLabel("place") ?? "", person: try body.optionalLabel("person") ?? "",
      seconds: try body.optionalNumber("expires_in", in: 1...30 * 86_400) ?? 86_400)
    return JSONAnswer { json in
      json.member("code", code)
      json.member("expires", expires)
    }.response(201)
  }

  private func makeToken(_ body: JSONObject) throws -> HTTPResponse {
    let name = try body.optionalString("name", upTo: 64) ?? "office"
    guard Accounts.isName(name) else { throw Problem(.malformed, "a token's name is letters, digits, dashes, dots and underscores") }
    let token = try accounts.makeOfficeToken(tenant: try body.string("tenant", upTo: 64), name: name)
    return JSONAnswer { $0.member("token", token) }.response(201)
  }

  private func removeToken(_ name: String, _ tenant: String) throws -> HTTPResponse {
    try accounts.removeOfficeTokens(tenant: tenant, name: name)
    return JSONAnswer { $0.member("name", name) }.response()
  }

  private func devices(_ tenant: String?) throws -> HTTPResponse {
    let devices = try accounts.devices(of: tenant)
    return JSONAnswer { json in
      json.name("devices")
      json.beginArray()
      for device in devices { device.write(to: &json) }
      json.endArray()
    }.response()
  }

  private func setState(_ id: String, _ action: String) throws -> HTTPResponse {
    let states: [String: DeviceAccount.State] = ["revoke": .revoked, "suspend": .suspended, "resume": .active]
    guard let id = Target.id(id), let state = states[action] else { throw Problem(.notFound, "there is no such device or action") }
    let device = try accounts.setState(state, of: id)
    news.tell()
    return JSONAnswer { json in
      json.member("device", device.id)
      json.member("state", device.state.rawValue)
    }.response()
  }

  /// Archives on a thread of its own: that takes as long as there is to copy.
  private func archive(_ call: Call, _ reply: @escaping Answer) throws {
    let directory = try call.request.object().string("directory", upTo: 4_096)
    try environment.startThread("archive", true) { [self] in
      do { reply(.answer(Self.logs(try archive(at: directory)))) } catch { reply(.answer(Self.problem(error).response)) }
    }
  }

  private static func logs(_ positions: [Position]) -> HTTPResponse {
    JSONAnswer { json in
      json.name("logs")
      json.beginArray()
      for position in positions { position.write(to: &json) }
      json.endArray()
    }.response()
  }

  private func quarantine(_ tenant: String?) throws -> HTTPResponse {
    let events = try storage.quarantine(of: tenant)
    return JSONAnswer { json in
      json.name("quarantined")
      json.beginArray()
      for event in events {
        json.beginObject()
        json.member("tenant", event.tenant)
        json.member("number", event.number)
        json.member("device", event.device)
        json.member("log", event.log)
        json.member("epoch", event.epoch)
        event.verdict.outcome.write(to: &json)
        json.endObject()
      }
      json.endArray()
    }.response()
  }

  private func judge(_ tenant: String, _ number: String, _ action: String, _ reply: @escaping Answer) throws {
    guard let number = UInt64(number), action == "release" || action == "dismiss" else {
      throw Problem(.notFound, "there is no such event or action")
    }
    let judgement = Judgement(tenant: tenant, number: number, releases: action == "release")
    submit(.judgement(judgement), byteCount: 256, for: nil, reply) {
      reply(.answer(JSONAnswer { judgement.write(to: &$0) }.response()))
    }
  }
}

extension DeviceAccount {
  func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("device", id)
    json.member("tenant", tenant)
    json.member("name", name)
    json.member("state", state.rawValue)
    json.member("public_key", base64: publicKey)
    if !place.isEmpty { json.member("place", place) }
    if !person.isEmpty { json.member("person", person) }
    json.member("enrolled", enrolled)
    json.endObject()
  }
}

extension HTTPRequest {
  /// The body, which has to be a JSON object. Its members are read as they are asked for.
  func object() throws -> JSONObject {
    guard MediaType.matches(fields["content-type"], MediaType.json) || MediaType.matches(fields["content-type"], MediaType.answer) else {
      throw Problem(.mediaType, "send \(MediaType.json)")
    }
    return try JSONValue(body).object("the body")
  }
}
