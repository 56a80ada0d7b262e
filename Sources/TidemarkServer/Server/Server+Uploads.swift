internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

extension Server {
  /// `/v1/attachments` and `/v1/uploads`: files, in parts, by the IETF's draft of resumable uploads and by tus 1.0. False for another call.
  func transfer(_ call: Call, _ reply: @escaping Answer) throws -> Bool {
    let path = call.target.path
    guard (2...3).contains(path.count), path[0] == "v1", path[1] == "attachments" || path[1] == "uploads" else { return false }
    let isTus = call.request.fields[UploadField.tus] != nil
    let answer: Answer = { reply(isTus ? Self.saying(UploadField.tusVersion, $0) : $0) }
    do {
      if isTus && call.request.method != "OPTIONS" { try Self.checkVersion(call.request) }
      switch (path[1], path.count, call.request.method) {
      case ("attachments", 2, "POST"): answer(.answer(isTus ? try create(call) : try offer(call)))
      case ("attachments", 3, "GET"): answer(.answer(try look(call, path[2])))
      case ("uploads", 3, "HEAD"): answer(.answer(try stand(call, path[2])))
      case ("uploads", 3, "PATCH"): try append(call, path[2], isTus, answer)
      case (_, _, "OPTIONS"): answer(.answer(capabilities()))
      case ("attachments", 2, _): throw Problem.method("OPTIONS, POST")
      case ("attachments", _, _): throw Problem.method("GET, OPTIONS")
      case ("uploads", 3, _): throw Problem.method("HEAD, OPTIONS, PATCH")
      default: throw Problem(.notFound, "there is no such call")
      }
    } catch {
      answer(.answer(Self.problem(error).response))
    }
    return true
  }

  private static func saying(_ version: String, _ reply: Reply) -> Reply {
    guard case .answer(var response) = reply else { return reply }
    response.fields[UploadField.tus] = version
    if response.status == 412 { response.fields[UploadField.tusVersions] = version }
    return .answer(response)
  }

  private static func checkVersion(_ request: HTTPRequest) throws {
    guard request.fields[UploadField.tus] == UploadField.tusVersion else {
      throw Problem(.preconditionFailed, "tus \(UploadField.tusVersion) is spoken here")
    }
  }

  private var uploadLimit: String {
    "max-size=\(uploads.limits.byteCount), max-append-size=\(options.limits.requestBytes), max-age=\(uploads.limits.lifetime)"
  }

  private func capabilities() -> HTTPResponse {
    var response = HTTPResponse(204)
    response.fields[UploadField.limit] = uploadLimit
    response.fields[UploadField.tus] = UploadField.tusVersion
    response.fields[UploadField.tusVersions] = UploadField.tusVersion
    response.fields[UploadField.tusExtensions] = "creation"
    response.fields[UploadField.tusLimit] = String(uploads.limits.byteCount)
    response.fields["accept-patch"] = "\(MediaType.partialUpload), \(MediaType.tusUpload)"
    return response
  }

  // MARK: Beginning

  private func offer(_ call: Call) throws -> HTTPResponse {
    let device = try call.device()
    let (answer, upload) = try uploads.begin(try call.message(AttachmentOffer.self), device.tenant, device: device.id)
    var response = answer.response(upload == nil ? 200 : 201)
    describe(answer, in: &response)
    if let upload { response.fields["location"] = Self.location(upload) }
    return response
  }

  /// By tus, which knows no answer that a file is here: it is given an upload that stands at its end.
  private func create(_ call: Call) throws -> HTTPResponse {
    let device = try call.device()
    guard let byteCount = UploadField.number(call.request.fields[UploadField.length]),
      let digest = Self.digest(call.request.fields[UploadField.tusMetadata])
    else {
      throw Problem(.malformed, "send Upload-Length, and in Upload-Metadata \"digest\": SHA-256 as 64 lower-case hexadecimal digits")
    }
    let offer = AttachmentOffer(digest: digest, byteCount: byteCount)
    let (answer, upload) = try uploads.begin(offer, device.tenant, device: device.id, keepsComplete: true)
    var response = HTTPResponse(201)
    describe(answer, in: &response)
    response.fields["location"] = upload.map(Self.location)
    return response
  }

  private static func location(_ upload: EventID) -> String { "/v1/uploads/\(upload.hexadecimal)" }

  private static func digest(_ metadata: String?) -> Digest256? {
    for pair in metadata?.split(separator: ",") ?? [] {
      let sides = pair.trimmingBlanks.split(separator: " ")
      guard sides.count == 2, sides[0] == "digest" else { continue }
      let text = try? Base64.decode(String(sides[1]).utf8Span.span)
      return text.flatMap { Digest256(hexadecimal: String(decoding: $0, as: UTF8.self)) }
    }
    return nil
  }

  private func describe(_ answer: AttachmentAnswer, in response: inout HTTPResponse) {
    var offset = answer.byteCount
    if case .open(_, let standing) = answer.state { offset = standing }
    response.fields[UploadField.offset] = String(offset)
    response.fields[UploadField.length] = String(answer.byteCount)
    response.fields[UploadField.complete] = answer.isComplete ? UploadField.yes : UploadField.no
    response.fields[UploadField.limit] = uploadLimit
    response.fields["cache-control"] = "no-store"
  }

  // MARK: Going on

  private func look(_ call: Call, _ digest: String) throws -> HTTPResponse {
    guard let digest = Digest256(hexadecimal: digest), let answer = try uploads.answer(digest, call.tenant()) else {
      throw Problem(.notFound, "there is no such file")
    }
    return answer.response()
  }

  private func stand(_ call: Call, _ upload: String) throws -> HTTPResponse {
    guard let id = Target.id(upload) else { throw Problem.unknownUpload }
    var response = HTTPResponse(204)
    describe(try uploads.standing(of: id, try call.device().tenant), in: &response)
    return response
  }

  private func append(_ call: Call, _ upload: String, _ isTus: Bool, _ reply: @escaping Answer) throws {
    let device = try call.device()
    let request = call.request
    guard let id = Target.id(upload) else { throw Problem.unknownUpload }
    guard [MediaType.partialUpload, MediaType.tusUpload].contains(where: { MediaType.matches(request.fields["content-type"], $0) }) else {
      throw Problem(.mediaType, "send \(isTus ? MediaType.tusUpload : MediaType.partialUpload)")
    }
    guard let offset = UploadField.number(request.fields[UploadField.offset]) else { throw Problem(.malformed, "send Upload-Offset") }
    guard request.body.count <= options.limits.requestBytes else {
      throw Problem(.tooLarge, "parts of at most \(options.limits.requestBytes) bytes are taken here")
    }
    let isLast = request.fields[UploadField.complete] == UploadField.yes
    // It waits for the disk, which a thread that serves others must not.
    try environment.startThread("upload", true) { [self] in
      do {
        let answer = try uploads.append(request.body, at: offset, isLast: isLast, to: id, device.tenant) {
          try accounts.check(device: device.id)
          if isClosing { throw Problem.stopping }
        }
        var response = answer.isComplete && !isTus ? answer.response() : HTTPResponse(204)
        describe(answer, in: &response)
        reply(.answer(response))
      } catch {
        reply(.answer(Self.problem(error).response))
      }
    }
  }
}

extension Server {
  private static let listLimit = 1_000

  /// Files that events of a device, or of all, name and that are not here.
  func awaited(of device: EventID?) throws -> [AwaitedFile] {
    try storage.awaited(of: device) { try uploads.byteCount(of: $0.digest, $0.tenant) == $0.byteCount }
  }

  /// `GET /v1/admin/attachments`.
  func attachments(_ tenant: String?) throws -> HTTPResponse {
    let awaited = try awaited(of: nil).filter { tenant == nil || $0.tenant == tenant }
    let open = try uploads.open(of: nil).filter { tenant == nil || $0.tenant == tenant }
    return JSONAnswer { Self.write(awaited, open, to: &$0) }.response()
  }

  /// The members `incomplete_files`, `incomplete` (events, with what is missing of each) and `uploads`.
  static func write(_ awaited: [AwaitedFile], _ open: [Uploads.Open], to json: inout JSONWriter) {
    json.member("incomplete_files", awaited.count)
    json.name("incomplete")
    json.beginArray()
    var rest = awaited.prefix(listLimit)
    while let first = rest.first {
      json.beginObject()
      json.member("tenant", first.tenant)
      json.member("log", first.log)
      json.member("epoch", first.epoch)
      json.member("offset", first.offset)
      json.member("event", first.event.description)
      json.name("files")
      json.beginArray()
      while let file = rest.first, file.number == first.number, file.offset == first.offset {
        json.beginObject()
        json.member("digest", file.digest)
        json.member("length", file.byteCount)
        json.member("name", file.name)
        json.endObject()
        rest.removeFirst()
      }
      json.endArray()
      json.endObject()
    }
    json.endArray()
    json.name("uploads")
    json.beginArray()
    for upload in open.prefix(listLimit) {
      json.beginObject()
      json.member("tenant", upload.tenant)
      json.member("device", upload.device)
      upload.answer.write(to: &json)
      json.endObject()
    }
    json.endArray()
  }
}

extension Call {
  /// Whose files the sender may see.
  fileprivate func tenant() throws -> String {
    switch credential {
    case .device(let device): return device.tenant
    case .office(let tenant): return tenant
    case .operator: throw Problem(.notPermitted, "that is for devices and offices")
    }
  }
}
