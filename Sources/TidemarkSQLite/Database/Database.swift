internal import CSQLite
package import TidemarkLog

/// One connection to a database file, for one thread at a time.
@safe package final class Database {
  package let path: String
  private let handle: OpaquePointer

  package init(_ path: String, busyTimeoutMilliseconds: Int) throws(LogError) {
    self.path = path
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    guard let handle = unsafe opened else {
      throw LogError(.io, "the database can't be opened", file: path, why: "memory is short", advice: "free memory and try again")
    }
    if code != SQLITE_OK {
      let error = unsafe Self.error(code, "the database can't be opened", path, handle)
      unsafe sqlite3_close_v2(handle)
      throw error
    }
    unsafe self.handle = handle
    unsafe sqlite3_extended_result_codes(handle, 1)
    unsafe sqlite3_busy_timeout(handle, Int32(clamping: busyTimeoutMilliseconds))
  }

  deinit { unsafe sqlite3_close_v2(handle) }

  /// Opens a database to write to, or makes it, in WAL mode. A transaction that was not synced is there whole, or not at all.
  package static func forRows(_ file: String, busyTimeoutMilliseconds: Int) throws(LogError) -> Database {
    if file.isEmpty || file == ":memory:" {
      throw LogError(
        .invalidArgument, "\"\(file)\" is no place for rows", why: "the database would be gone with the process", advice: "name a file")
    }
    let what = "the database can't be opened"
    let database = try Database(file, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
    if database.isReadOnly {
      throw LogError(
        .databaseReadOnly, what, file: file, why: "the system allows reading only", advice: "allow writing to the file and its directory")
    }
    // In another mode, where there can be no WAL, a transaction that is not synced could leave half of itself.
    let mode = try database.prepare("PRAGMA journal_mode = WAL", what)
    let isWAL = try mode.step() && mode.text(0) == "wal"
    mode.reset()
    try database.execute("PRAGMA synchronous = \(isWAL ? "NORMAL" : "FULL")", what)
    return database
  }

  /// Whether it was opened for reading only, because the file allows no more.
  package var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") != 0 }

  /// Whether a transaction is open. Some errors end it.
  package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

  /// How many rows the last statement that was to change any has changed.
  package var changedRowCount: Int { unsafe Int(sqlite3_changes(handle)) }

  package func execute(_ sql: String, _ what: String) throws(LogError) {
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    if code != SQLITE_OK { throw error(code, what) }
  }

  package func prepare(_ sql: String, _ what: String) throws(LogError) -> Statement {
    var statement: OpaquePointer?
    let code = unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let prepared = unsafe statement else { throw error(code, what) }
    return unsafe Statement(prepared, self, what)
  }

  package func error(_ code: Int32, _ what: String) -> LogError { unsafe Self.error(code, what, path, handle) }

  private static func error(_ code: Int32, _ what: String, _ path: String, _ handle: OpaquePointer) -> LogError {
    let message = unsafe String(cString: sqlite3_errmsg(handle))
    let errno = unsafe sqlite3_system_errno(handle)
    let (kind, advice) = meaning(code & 0xFF, errno: errno)
    return LogError(kind, what, file: path, why: "\(message) (SQLite \(code))", errno: errno == 0 ? nil : errno, advice: advice)
  }

  /// What a primary result code means, and what can be done about it.
  private static func meaning(_ code: Int32, errno: Int32) -> (LogError.Code, String) {
    switch code {
    case SQLITE_NOTADB: (.notADatabase, "name another file; this one was left as it is")
    case SQLITE_BUSY, SQLITE_LOCKED: (.databaseLocked, "end the transaction of the program that holds it, and call again")
    case SQLITE_READONLY: (.databaseReadOnly, "allow writing to the file and its directory")
    case SQLITE_FULL: (.diskFull, "free space and call again; rows and offset stand as they were")
    case SQLITE_CORRUPT: (.databaseDamaged, "move the file away: it is made again from the log")
    case SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_MISMATCH, SQLITE_CONSTRAINT:
      (.databaseSchema, "name another file, or drop the tables of that name: they are made again from the log")
    case SQLITE_PERM, SQLITE_AUTH: (.permissionDenied, "allow this program to read and write the file and its directory")
    case SQLITE_CANTOPEN where errno == 13 || errno == 1:
      (.permissionDenied, "allow this program to read and write the file and its directory")
    case SQLITE_CANTOPEN: (.io, "check that the directory exists and that this is a file")
    default: (.io, "try again; the log has everything")
    }
  }
}

/// A prepared statement of a connection, which it keeps open.
@safe package final class Statement {
  private let handle: OpaquePointer
  private let database: Database
  private let what: String

  fileprivate init(_ handle: OpaquePointer, _ database: Database, _ what: String) {
    unsafe self.handle = handle
    self.database = database
    self.what = what
  }

  deinit { unsafe sqlite3_finalize(handle) }

  // Parameters are counted from 1.

  package func bind(_ index: Int, _ number: Int64) throws(LogError) { try check(unsafe sqlite3_bind_int64(handle, Int32(index), number)) }

  package func bind(_ index: Int, _ text: String) throws(LogError) {
    var text = text
    let code = text.withUTF8 { bytes in
      unsafe tidemark_bind_text(handle, Int32(index), bytes.baseAddress, Int32(clamping: bytes.count))
    }
    try check(code)
  }

  /// Text if it is UTF-8, else bytes.
  package func bind(_ index: Int, _ bytes: [UInt8]) throws(LogError) {
    if let text = String(validating: bytes, as: UTF8.self) { try bind(index, text) } else { try bind(index, blob: bytes) }
  }

  package func bind(_ index: Int, blob bytes: [UInt8]) throws(LogError) {
    let code = unsafe bytes.withUnsafeBytes { bytes in
      unsafe tidemark_bind_blob(handle, Int32(index), bytes.baseAddress, Int32(clamping: bytes.count))
    }
    try check(code)
  }

  /// An id as its 16 bytes.
  package func bind(_ index: Int, _ id: EventID) throws(LogError) {
    var halves = (id.high.bigEndian, id.low.bigEndian)
    let code = unsafe withUnsafeBytes(of: &halves) { bytes in
      unsafe tidemark_bind_blob(handle, Int32(index), bytes.baseAddress, Int32(bytes.count))
    }
    try check(code)
  }

  private func check(_ code: Int32) throws(LogError) {
    if code != SQLITE_OK { throw database.error(code, what) }
  }

  /// True for a row, false at the end, after which it can be run again.
  package func step() throws(LogError) -> Bool {
    let code = unsafe sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    // What went wrong is told by either call.
    let error = code == SQLITE_DONE ? nil : database.error(code, what)
    unsafe sqlite3_reset(handle)
    if let error { throw error }
    return false
  }

  /// Runs it to its end.
  package func run() throws(LogError) { while try step() {} }

  /// Leaves the rest of its rows.
  package func reset() { unsafe sqlite3_reset(handle) }

  // Columns are counted from 0.

  package func integer(_ column: Int) -> Int64 { unsafe sqlite3_column_int64(handle, Int32(column)) }

  package func isInteger(_ column: Int) -> Bool { unsafe sqlite3_column_type(handle, Int32(column)) == SQLITE_INTEGER }

  package func text(_ column: Int) -> String { String(decoding: bytes(column), as: UTF8.self) }

  /// The bytes of a text or a blob.
  package func bytes(_ column: Int) -> [UInt8] {
    guard let start = unsafe sqlite3_column_blob(handle, Int32(column)) else { return [] }
    let count = unsafe sqlite3_column_bytes(handle, Int32(column))
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(count)))
  }
}
