/// What can be fuzzed.
enum FuzzTarget: String, CaseIterable {
  case frame
  case recovery
  case edits
  case index
  case identity
  case jsonLines = "json-lines"
  case csv
  case cloudEvents = "cloudevents"
  case values
  case definitions
  case notes
  case shipments
  case messages

  func run(_ bytes: [UInt8]) {
    switch self {
    case .frame: FrameTarget.run(bytes)
    case .recovery: RecoveryTarget.run(bytes)
    case .edits: EditTarget.run(bytes)
    case .index: IndexTarget.run(bytes)
    case .identity: IdentityTarget.run(bytes)
    case .jsonLines: TextTargets.jsonLines(bytes)
    case .csv: TextTargets.csv(bytes)
    case .cloudEvents: TextTargets.cloudEvents(bytes)
    case .values: ValuesTarget.run(bytes)
    case .definitions: DefinitionsTarget.run(bytes)
    case .notes: NotesTarget.run(bytes)
    case .shipments: ShipmentsTarget.run(bytes)
    case .messages: MessagesTarget.run(bytes)
    }
  }

  /// The inputs to start from, made from the vectors.
  func corpus() -> [(name: String, bytes: [UInt8])] {
    switch self {
    case .frame: FrameTarget.corpus()
    case .recovery: RecoveryTarget.corpus()
    case .edits: EditTarget.corpus()
    case .index: IndexTarget.corpus()
    case .identity: IdentityTarget.corpus()
    case .jsonLines, .csv, .cloudEvents: TextTargets.corpus(self)
    case .values: ValuesTarget.corpus()
    case .definitions: DefinitionsTarget.corpus()
    case .notes: NotesTarget.corpus()
    case .shipments: ShipmentsTarget.corpus()
    case .messages: MessagesTarget.corpus()
    }
  }
}
