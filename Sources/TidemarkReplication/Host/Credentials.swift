public import TidemarkEvidence
public import TidemarkLog
internal import TidemarkText

/// What a server gave a device when it was enrolled, and the key that it was enrolled with.
public struct Credentials: Sendable, Equatable {
  /// Where the server is.
  public var server: ServerAddress
  /// The public half of the device's key.
  public var publicKey: [UInt8]
  /// What follows from the server's answer; nil between asking and the answer.
  public var grant: Grant?

  /// What the server gave.
  public struct Grant: Sendable, Equatable {
    /// What the server calls this device.
    public var device: EventID
    /// Whose it is.
    public var tenant: String
    /// Good for one access token, and the next of its kind.
    public var refreshToken: String
    /// Whose receipts count.
    public var serverKey: VerifierKey

    /// As it was given.
    public init(device: EventID, tenant: String, refreshToken: String, serverKey: VerifierKey) {
      self.device = device
      self.tenant = tenant
      self.refreshToken = refreshToken
      self.serverKey = serverKey
    }
  }

  /// As they are kept.
  public init(server: ServerAddress, publicKey: [UInt8], grant: Grant? = nil) {
    self.server = server
    self.publicKey = publicKey
    self.grant = grant
  }

  /// As text, for a store. It holds a secret.
  public var json: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("server", server.description)
    json.name("public_key")
    json.base64(publicKey.span)
    if let grant {
      json.member("device", grant.device.hexadecimal)
      json.member("tenant", grant.tenant)
      json.member("refresh_token", grant.refreshToken)
      json.member("server_key", grant.serverKey.description)
    }
    json.endObject()
    return json.bytes
  }

  /// Reads the text. Throws `LogError.Code.invalidText`.
  public init(json: [UInt8]) throws {
    do {
      let object = try JSONValue(json).object("the file")
      // Which addresses are allowed was decided when it was enrolled.
      server = try ServerAddress(object.string("server"), allowsPlainText: true)
      publicKey = try object.base64("public_key", byteCount: 32)
      guard object["refresh_token"] != nil else { return }
      guard let device = EventID(try object.string("device")) else { throw object.wrong("device", "is no id") }
      grant = Grant(
        device: device, tenant: try object.string("tenant"), refreshToken: try object.string("refresh_token"),
        serverKey: try VerifierKey(object.string("server_key")))
    } catch {
      throw LogError(
        .invalidText, "credentials can't be read", why: (error as? TextError)?.why ?? text(of: error), advice: "enrol the device again")
    }
  }
}

/// Where a device keeps its ``Credentials``. ``FileCredentialStore`` is a file; a host with a keychain gives its own.
///
/// ```swift
/// let store = FileCredentialStore(at: "credentials")
/// ```
public protocol CredentialStore: Sendable {
  /// What was kept last; nil if there is nothing.
  func load() throws -> Credentials?
  /// Keeps them in the place of those before. When it returns they survive a power cut: an old refresh token is worth nothing once the new
  /// one was used.
  func save(_ credentials: Credentials) throws
  /// Forgets them.
  func erase() throws
}

/// Credentials in a file that only its owner may read.
public struct FileCredentialStore: CredentialStore {
  /// The file.
  public let path: String
  private let files: any FileSystem

  /// Nothing is read or made yet.
  public init(at path: String) { self.init(at: path, POSIXFileSystem()) }

  package init(at path: String, _ files: any FileSystem) {
    self.path = path
    self.files = files
  }

  public func load() throws -> Credentials? { try files.contents(path).map { try Credentials(json: $0) } }

  public func save(_ credentials: Credentials) throws {
    let directory = files.directory(of: path)
    if try files.status(directory) == nil {
      try files.makeDirectory(directory)
      try files.syncDirectory(files.directory(of: directory))
    }
    try files.replace(path, with: credentials.json, .createPrivate)
  }

  public func erase() throws {
    guard try files.status(path) != nil else { return }
    try files.remove(path)
    try files.syncDirectory(files.directory(of: path))
  }
}
