enum ReplayFault {
  static func run(_ series: Series) -> Cell { Cell(series.subject, series.fault) }
}
enum SyncFault {
  static func run(_ series: Series) -> Cell { Cell(series.subject, series.fault) }
}
enum FullFault {
  static func run(_ series: Series) -> Cell { Cell(series.subject, series.fault) }
}
