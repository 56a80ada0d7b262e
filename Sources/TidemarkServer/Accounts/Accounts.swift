internal import TidemarkEvidence
package import TidemarkLog
package import TidemarkProtocol
internal import TidemarkSQLite

/// Who may do what: tenants, codes, devices and tokens, in a database of their own. They are nowhere else, so each change is synced.
package final class Accounts: Sendable {
  private let rows: Locked<Rows>
  let environment: Environment
  /// Of the operator's token.
  private let operatorDigest: [UInt8]

  static let accessSeconds: UInt64 = 900
  /// How many refresh tokens may wait for the first use at a time: each is the answer to a repeated request.
  static let waitingLimit: Int64 = 8
  /// How long a used refresh token is remembered, to see its reuse: 90 days.
  private static let memorySeconds: UInt64 = 90 * 86_400

  private static let schema = """
    CREATE TABLE IF NOT EXISTS tenants (name TEXT PRIMARY KEY, made INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS codes (
      digest BLOB PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL, place TEXT NOT NULL, person TEXT NOT NULL,
      expires INTEGER NOT NULL, device BLOB NOT NULL, state INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS devices (
      id BLOB PRIMARY KEY, tenant TEXT NOT NULL, public_key BLOB NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, place TEXT NOT NULL,
      person TEXT NOT NULL, enrolled INTEGER NOT NULL, UNIQUE (tenant, public_key)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS refresh_tokens (
      number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, device BLOB NOT NULL, parent BLOB NOT NULL, state INTEGER NOT NULL,
      made INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS refresh_tokens_of_parent ON refresh_tokens (parent);
    CREATE INDEX IF NOT EXISTS refresh_tokens_of_device ON refresh_tokens (device);
    CREATE TABLE IF NOT EXISTS access_tokens (
      digest BLOB PRIMARY KEY, device BLOB NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS access_tokens_of_device ON access_tokens (device);
    CREATE TABLE IF NOT EXISTS office_tokens (
      digest BLOB PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL, made INTEGER NOT NULL) WITHOUT ROWID;
    """

  /// Opens the accounts, or makes them. Throws errors of the database.
  ///
  /// - Parameter operatorToken: the operator's credential.
  package init(_ file: String, operatorToken: String, environment: Environment) throws {
    let rows = try Rows(file, "the accounts can't be used")
    try rows.execute("PRAGMA synchronous = FULL")
    try rows.execute(Self.schema)
    self.rows = Locked(rows)
    self.environment = environment
    operatorDigest = Secret.digest(operatorToken)
  }

  private var now: UInt64 { UInt64(max(0, environment.clock.now().time.nanoseconds / 1_000_000_000)) }

  // MARK: Credentials

  /// Whose a bearer token is. Throws `Problem.Code.unauthorized` for what is none or has expired, and the device's state if it is not
  /// active.
  package func credential(_ token: String) throws -> Credential {
    let digest = Secret.digest(token)
    if digest == operatorDigest { return .operator }
    let now = now
    return try rows.withLock { rows in
      if token.hasPrefix(Secret.office) {
        let tenant = try rows.first("SELECT tenant FROM office_tokens WHERE digest = ?", RowValue(digest)) { $0.text(0) }
        guard let tenant else { throw Problem.unauthorized }
        return .office(tenant: tenant)
      }
      let device = try rows.first("SELECT device FROM access_tokens WHERE digest = ? AND expires > ?", RowValue(digest), RowValue(now)) {
        $0.id(0)
      }
      guard let device, let account = try Self.device(device, rows) else { throw Problem.unauthorized }
      try Self.check(account)
      return .device(account)
    }
  }

  /// Throws unless a device may ship at this moment.
  package func check(device id: EventID) throws {
    guard let account = try device(id) else { throw Problem.unauthorized }
    try Self.check(account)
  }

  private static func check(_ account: DeviceAccount) throws {
    switch account.state {
    case .active: return
    case .suspended: throw Problem(.suspended, "ask whoever runs the server", retryAfter: 300)
    case .revoked: throw Problem(.revoked, "ask whoever runs the server")
    }
  }

  // MARK: Tenants and devices

  /// Whether a text can stand in a path as it is: letters, digits, dashes, dots and underscores.
  package static func isName(_ name: String, upTo limit: Int = 64) -> Bool {
    (1...limit).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
      }
  }

  /// Makes a tenant; one that is there is no error.
  package func makeTenant(_ name: String) throws {
    // Archives have folders of that name.
    guard Self.isName(name), !name.hasPrefix(".") else {
      throw Problem(.malformed, "a tenant's name is 1 to 64 letters, digits, dashes, dots and underscores, and begins with no dot")
    }
    try rows.withLock { try $0.run("INSERT OR IGNORE INTO tenants VALUES (?, ?)", RowValue(name), RowValue(now)) }
  }

  /// Throws `Problem.Code.notFound` for a tenant that is not there.
  package func checkTenant(_ name: String) throws { try rows.withLock { try Self.checkTenant(name, $0) } }

  private static func checkTenant(_ name: String, _ rows: Rows) throws {
    guard try rows.has("SELECT 1 FROM tenants WHERE name = ?", RowValue(name)) else { throw Problem(.notFound, "there is no such tenant") }
  }

  /// Makes a code that enrols one device.
  package func makeCode(tenant: String, name: String, place: String, person: String, seconds: UInt64) throws -> (
    code: String, expires: Timestamp
  ) {
    let code = Secret.code(environment.random)
    let expires = now + seconds
    try rows.withLock { rows in
      try Self.checkTenant(tenant, rows)
      try rows.run("DELETE FROM codes WHERE expires < ? AND state = 0 AND device = x''", RowValue(now))
      try rows.run(
        "INSERT INTO codes VALUES (?, ?, ?, ?, ?, ?, x'', 0)", RowValue(Secret.digest(code: code)), RowValue(tenant), RowValue(name),
        RowValue(place), RowValue(person), RowValue(expires))
    }
    return (code, Timestamp(nanoseconds: Int64(expires) * 1_000_000_000))
  }

  /// Makes a credential of a tenant's office.
  package func makeOfficeToken(tenant: String, name: String) throws -> String {
    let token = Secret.token(Secret.office, environment.random)
    try rows.withLock { rows in
      try Self.checkTenant(tenant, rows)
      try rows.run(
        "INSERT INTO office_tokens VALUES (?, ?, ?, ?)", RowValue(Secret.digest(token)), RowValue(tenant), RowValue(name), RowValue(now))
    }
    return token
  }

  /// Ends the credentials of that name of a tenant's office.
  package func removeOfficeTokens(tenant: String, name: String) throws {
    try rows.withLock { rows in
      let isThere = try rows.has("DELETE FROM office_tokens WHERE tenant = ? AND name = ? RETURNING 1", RowValue(tenant), RowValue(name))
      if !isThere { throw Problem(.notFound, "there is no such token") }
    }
  }

  private static let columns = "id, tenant, public_key, name, state, place, person, enrolled"

  private static func account(_ row: Statement) -> DeviceAccount {
    DeviceAccount(
      id: row.id(0), tenant: row.text(1), publicKey: row.bytes(2), name: row.text(3),
      state: DeviceAccount.State(rawValue: row.text(4)) ?? .suspended, place: row.text(5), person: row.text(6),
      enrolled: Timestamp(nanoseconds: row.integer(7) * 1_000_000_000))
  }

  private static func device(_ id: EventID, _ rows: Rows) throws -> DeviceAccount? {
    try rows.first("SELECT \(columns) FROM devices WHERE id = ?", RowValue(id), read: account)
  }

  private static func device(publicKey: [UInt8], of tenant: String, _ rows: Rows) throws -> DeviceAccount? {
    try rows.first(
      "SELECT \(columns) FROM devices WHERE tenant = ? AND public_key = ?", RowValue(tenant), RowValue(publicKey), read: account)
  }

  package func device(_ id: EventID) throws -> DeviceAccount? { try rows.withLock { try Self.device(id, $0) } }

  /// Of a tenant, or of all.
  package func devices(of tenant: String?) throws -> [DeviceAccount] {
    try rows.withLock { rows in
      try rows.all(
        "SELECT \(Self.columns) FROM devices WHERE ? = '' OR tenant = ? ORDER BY enrolled, id", RowValue(tenant ?? ""),
        RowValue(tenant ?? ""), read: Self.account)
    }
  }

  /// Sets a device's state, at once. Revoking is for good.
  package func setState(_ state: DeviceAccount.State, of id: EventID) throws -> DeviceAccount {
    try rows.withLock { rows in
      guard var account = try Self.device(id, rows) else { throw Problem(.notFound, "there is no such device") }
      if account.state == .revoked && state != .revoked { throw Problem(.refused, "the device was revoked: enrol it again with a new key") }
      try rows.run("UPDATE devices SET state = ? WHERE id = ?", RowValue(state.rawValue), RowValue(id))
      account.state = state
      return account
    }
  }

  /// Says for which place and person a device gets items; empty: for none.
  package func assign(_ id: EventID, place: String, person: String) throws -> DeviceAccount {
    try rows.withLock { rows in
      guard var account = try Self.device(id, rows) else { throw Problem(.notFound, "there is no such device") }
      try rows.run("UPDATE devices SET place = ?, person = ? WHERE id = ?", RowValue(place), RowValue(person), RowValue(id))
      (account.place, account.person) = (place, person)
      return account
    }
  }

  // MARK: Enrolling

  /// A device's id follows from its key: where the accounts are lost, it is the same one after it is enrolled again, and has its logs.
  private static func id(_ tenant: String, _ publicKey: [UInt8]) -> EventID {
    SHA256().hash(Array("tidemark device v1\n\(tenant)\n".utf8) + publicKey).leading
  }

  /// Enrols a device with a code. The same code with the same key serves again until a token that it gave was used.
  package func enrol(_ enrolment: Enrolment) throws -> (account: DeviceAccount, refreshToken: String) {
    let digest = Secret.digest(code: enrolment.code)
    let token = Secret.token(Secret.refresh, environment.random)
    let now = now
    return try rows.withLock { rows in
      try rows.transaction {
        let code = try rows.first(
          "SELECT tenant, name, place, person, device FROM codes WHERE digest = ? AND state = 0 AND expires > ?", RowValue(digest),
          RowValue(now)
        ) { row in
          DeviceAccount(
            id: row.id(4), tenant: row.text(0), publicKey: enrolment.publicKey, name: enrolment.name ?? row.text(1), state: .active,
            place: row.text(2), person: row.text(3), enrolled: Timestamp(nanoseconds: Int64(now) * 1_000_000_000))
        }
        guard var account = code else { throw Problem(.refreshRefused, "the code is not valid") }
        if account.id == .zero {
          if let known = try Self.device(publicKey: account.publicKey, of: account.tenant, rows) {
            try Self.check(known)
            guard try enrolment.isSigned else { throw Problem(.refused, "this key is enrolled: show by a signature that it is yours") }
            account = known
          } else {
            account.id = Self.id(account.tenant, account.publicKey)
            try rows.run(
              "INSERT INTO devices VALUES (?, ?, ?, ?, ?, ?, ?, ?)", RowValue(account.id), RowValue(account.tenant),
              RowValue(account.publicKey),
              RowValue(account.name), RowValue(account.state.rawValue), RowValue(account.place), RowValue(account.person), RowValue(now))
          }
          try rows.run("UPDATE codes SET device = ? WHERE digest = ?", RowValue(account.id), RowValue(digest))
        } else {
          guard let known = try Self.device(account.id, rows), known.publicKey == enrolment.publicKey else {
            throw Problem(.refreshRefused, "the code is not valid")
          }
          try Self.check(known)
          account = known
        }
        try Self.give(token, to: account.id, for: digest, now, rows)
        return (account, token)
      }
    }
  }

  // MARK: Refresh tokens

  // 0: given, not used. 1: used, and its successor was not: it serves again, as the answer may have been lost. 2: its successor, or that of
  // the same parent, was used: whoever shows it now has a copy.

  private static func give(_ token: String, to device: EventID, for parent: [UInt8], _ now: UInt64, _ rows: Rows) throws {
    try rows.run(
      "INSERT INTO refresh_tokens (digest, device, parent, state, made) VALUES (?, ?, ?, 0, ?)", RowValue(Secret.digest(token)),
      RowValue(device), RowValue(parent), RowValue(now))
    try rows.run(
      """
      DELETE FROM refresh_tokens WHERE parent = ? AND state = 0
      AND number NOT IN (SELECT number FROM refresh_tokens WHERE parent = ? AND state = 0 ORDER BY number DESC LIMIT ?)
      """, RowValue(parent), RowValue(parent), .number(waitingLimit))
    try rows.run(
      "DELETE FROM refresh_tokens WHERE device = ? AND state = 2 AND made + ? < ?", RowValue(device), RowValue(memorySeconds),
      RowValue(now))
  }

  /// Gives a new access token and a new refresh token for a refresh token.
  package func refresh(_ token: String) throws -> TokenAnswer {
    let digest = Secret.digest(token)
    let random = environment.random
    let answer = TokenAnswer(
      accessToken: Secret.token(Secret.access, random), expiresIn: Self.accessSeconds, refreshToken: Secret.token(Secret.refresh, random))
    let now = now
    let isReused = try rows.withLock { rows in
      try rows.transaction {
        let found = try rows.first("SELECT device, parent, state FROM refresh_tokens WHERE digest = ?", RowValue(digest)) {
          (device: $0.id(0), parent: $0.bytes(1), state: $0.integer(2))
        }
        guard let found, let account = try Self.device(found.device, rows) else { throw Problem.refreshRefused }
        try Self.check(account)
        if found.state == 2 {
          try rows.run("DELETE FROM refresh_tokens WHERE device = ?", RowValue(account.id))
          try rows.run("DELETE FROM access_tokens WHERE device = ?", RowValue(account.id))
          return true
        }
        if found.state == 0 {
          try rows.run("UPDATE refresh_tokens SET state = 2 WHERE parent = ? OR digest = ?", RowValue(found.parent), RowValue(found.parent))
          try rows.run("UPDATE refresh_tokens SET state = 1 WHERE digest = ?", RowValue(digest))
          try rows.run("UPDATE codes SET state = 1 WHERE digest = ?", RowValue(found.parent))
        }
        try Self.give(answer.refreshToken, to: account.id, for: digest, now, rows)
        try rows.run("DELETE FROM access_tokens WHERE device = ? AND expires <= ?", RowValue(account.id), RowValue(now))
        try rows.run(
          "INSERT INTO access_tokens VALUES (?, ?, ?)", RowValue(Secret.digest(answer.accessToken)), RowValue(account.id),
          RowValue(now + Self.accessSeconds))
        return false
      }
    }
    if isReused { throw Problem.refreshRefused }
    return answer
  }
}

extension Enrolment {
  /// Whether the key's owner sends it.
  fileprivate var isSigned: Bool {
    get throws {
      guard let signature else { return false }
      let key = try VerifierKey(name: "enrolment", kind: .note, publicKey: publicKey)
      return key.isValid(signature, of: Self.signatureMessage(of: code))
    }
  }
}

extension Problem {
  static let unauthorized = Problem(.unauthorized, "send a valid access token")
  static let refreshRefused = Problem(.refreshRefused, "the refresh token is not valid")
}
