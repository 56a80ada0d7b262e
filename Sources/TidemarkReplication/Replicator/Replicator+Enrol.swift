public import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol

extension Replicator {
  /// Enrols this device with a code of the operator, and keeps what the server gives. The device's key is made if there is none yet.
  ///
  /// If the answer is lost, call it again with the same code. A device that is enrolled already keeps its credentials until the server has
  /// answered.
  ///
  /// - Parameters:
  ///   - server: where it is.
  ///   - code: for one device, once.
  ///   - name: what people call the device.
  ///   - keys: where the device's key is to be.
  ///   - store: where to keep what the server gives.
  ///   - transport: how the request gets there.
  ///
  /// Throws `LogError.Code.refused` if the server does not take the code, `LogError.Code.transport` if it does not answer, and errors of
  /// the file system.
  ///
  /// ```swift
  /// try await Replicator.enrol(ServerAddress("https://tidemark.example"), code: code, keys: keys, credentials: store)
  /// ```
  @discardableResult
  public static func enrol(
    _ server: ServerAddress, code: String, name: String? = nil, keys: any SigningKeyProvider, credentials store: any CredentialStore,
    transport: any Transport = CurlTransport()
  ) async throws -> Credentials {
    let known = try store.load()
    let publicKey = try known?.publicKey ?? keys.makeKey()
    // The same key asks again if the answer is lost.
    if known?.grant == nil { try store.save(Credentials(server: server, publicKey: publicKey)) }
    let signature = try keys.sign(Enrolment.signatureMessage(of: code), publicKey: publicKey)
    let enrolment = Enrolment(code: code, publicKey: publicKey, name: name, signature: signature)
    let response = try await transport.send(HTTPRequest("POST", "/v1/enrol", MediaType.json, enrolment.json), to: server)
    if let problem = Problem(response) {
      throw LogError(
        .refused, "the server did not enrol the device", why: "\(problem.code.rawValue): \(problem.detail)", advice: "ask for a new code")
    }
    guard response.status == 201, let answer = EnrolmentAnswer(answer: response), answer.serverKey.kind == .cosignature else {
      throw LogError(
        .transport, "the server did not enrol the device", why: "status \(response.status), and no answer of its form",
        advice: "check the address, and the network: it may want a sign-in of its own")
    }
    let grant = Credentials.Grant(
      device: answer.device, tenant: answer.tenant, refreshToken: answer.refreshToken, serverKey: answer.serverKey)
    let credentials = Credentials(server: server, publicKey: publicKey, grant: grant)
    try store.save(credentials)
    return credentials
  }
}
