/// What many plug pulls have shown, as a report like that of any other fault.
enum PlugReport {
  static func of(_ history: PlugHistory, _ plan: PlugPlan) -> CrashReport {
    var report = CrashReport(environment: EnvironmentFacts(), seed: 0)
    report.engines = plan.subjects.map { CrashReport.Engine(name: $0.name, claim: $0.claim, library: $0.library) }
    let pulls = history.rounds.enumerated().filter { $0.element.isPull }
    guard !pulls.isEmpty else { return report }
    report.cells = plan.all.map { subject in
      var cell = Cell(subject, .plug)
      for (index, round) in pulls {
        guard let writer = round.writers.first(where: { $0.engine == subject.name }), let result = writer.result else { continue }
        if result.isUnopenable {
          cell.addUnopenable(atRisk: result.atRisk, "round \(index + 1): can't be opened")
        } else {
          cell.recoveryMicroseconds.append(result.openingMicroseconds)
          cell.add(result.judgement, atRisk: result.atRisk, "round \(index + 1)")
        }
      }
      return cell
    }
    return report
  }
}
