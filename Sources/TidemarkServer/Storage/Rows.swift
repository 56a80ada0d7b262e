internal import TidemarkLog
internal import TidemarkSQLite

/// A value that a statement is given.
enum RowValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  case number(Int64)
  case text(String)
  case blob([UInt8])

  init(integerLiteral value: Int64) { self = .number(value) }
  init(stringLiteral value: String) { self = .text(value) }
  init(_ number: UInt64) { self = .number(Int64(bitPattern: number)) }
  init(_ text: String) { self = .text(text) }
  init(_ bytes: [UInt8]) { self = .blob(bytes) }
  init(_ id: EventID) {
    var bytes: [UInt8] = []
    bytes.add(id)
    self = .blob(bytes)
  }
}

/// A connection with its statements, each prepared once. For one thread at a time.
final class Rows {
  private let database: Database
  private let what: String
  private var statements: [String: Statement] = [:]

  /// Opens a database, or makes it.
  ///
  /// - Parameter what: for errors, such as "the accounts can't be read".
  init(_ file: String, _ what: String) throws(LogError) {
    database = try Database.forRows(file, busyTimeoutMilliseconds: 5_000)
    self.what = what
  }

  /// Runs text of several statements.
  func execute(_ sql: String) throws(LogError) { try database.execute(sql, what) }

  /// A statement to be bound and run by the caller, many times over.
  func prepared(_ sql: String) throws(LogError) -> Statement {
    if let known = statements[sql] { return known }
    let statement = try database.prepare(sql, what)
    statements[sql] = statement
    return statement
  }

  /// How many rows the last statement that was to change any has changed.
  var changedRowCount: Int { database.changedRowCount }

  private func statement(_ sql: String, _ values: [RowValue]) throws(LogError) -> Statement {
    let statement = try prepared(sql)
    for (index, value) in values.enumerated() {
      switch value {
      case .number(let number): try statement.bind(index + 1, number)
      case .text(let text): try statement.bind(index + 1, text)
      case .blob(let bytes): try statement.bind(index + 1, blob: bytes)
      }
    }
    return statement
  }

  /// Runs one statement.
  func run(_ sql: String, _ values: RowValue...) throws(LogError) { try statement(sql, values).run() }

  /// The first row that it gives, read; nil if there is none.
  func first<Value>(_ sql: String, _ values: RowValue..., read: (Statement) throws -> Value) throws -> Value? {
    let statement = try statement(sql, values)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return try read(statement)
  }

  /// All rows that it gives, read.
  func all<Value>(_ sql: String, _ values: RowValue..., read: (Statement) throws -> Value) throws -> [Value] {
    let statement = try statement(sql, values)
    defer { statement.reset() }
    var found: [Value] = []
    while try statement.step() { found.append(try read(statement)) }
    return found
  }

  /// Whether it gives a row.
  func has(_ sql: String, _ values: RowValue...) throws(LogError) -> Bool {
    let statement = try statement(sql, values)
    defer { statement.reset() }
    return try statement.step()
  }

  /// All that `body` changes, or nothing.
  func transaction<Value>(_ body: () throws -> Value) throws -> Value {
    try execute("BEGIN IMMEDIATE")
    do {
      let value = try body()
      try execute("COMMIT")
      return value
    } catch {
      rollBack()
      throw error
    }
  }

  /// Ends the transaction that is open, if one is, as if it had not been.
  func rollBack() {
    if database.isInTransaction { try? execute("ROLLBACK") }
  }

  /// Reads as of one moment.
  func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
    try execute("BEGIN")
    defer { rollBack() }
    return try body()
  }
}

extension Statement {
  func unsigned(_ column: Int) -> UInt64 { UInt64(bitPattern: integer(column)) }
  func id(_ column: Int) -> EventID {
    let bytes = bytes(column)
    return bytes.count == 16 ? bytes.rawSpan.id(0) : .zero
  }
}
