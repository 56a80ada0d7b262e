enum FullFault {
  static func run(_ series: Series) -> Cell { Cell(series.subject, series.fault) }
}
