public import TidemarkLog

extension LogError.Code {
  /// The file is something other than a SQLite database. It was left as it is.
  public static let notADatabase = LogError.Code(rawValue: "notADatabase")
  /// Another connection holds the database, and went on doing so for as long as ``SQLiteSinkOptions/busyTimeoutMilliseconds`` says.
  public static let databaseLocked = LogError.Code(rawValue: "databaseLocked")
  /// The database can be read, but not written.
  public static let databaseReadOnly = LogError.Code(rawValue: "databaseReadOnly")
  /// The database is damaged. Nothing is lost by it: the log has everything.
  public static let databaseDamaged = LogError.Code(rawValue: "databaseDamaged")
  /// A table that should be the sink's is another's, or not as the sink makes it. It was left as it is.
  public static let databaseSchema = LogError.Code(rawValue: "databaseSchema")
}
