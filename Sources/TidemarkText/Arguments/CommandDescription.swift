/// A command as data: what it takes, and what its help says.
package struct CommandDescription: Sendable {
  package var name: String
  /// One line, without a full stop.
  package var summary: String
  package var arguments: [Argument] = []
  package var options: [Option] = []
  /// Paragraphs of the help after the options.
  package var notes: [String] = []
  package var examples: [Example]

  package init(
    _ name: String, _ summary: String, arguments: [Argument] = [], options: [Option] = [], notes: [String] = [], examples: [Example]
  ) {
    self.name = name
    self.summary = summary
    self.arguments = arguments
    self.options = options
    self.notes = notes
    self.examples = examples
  }

  /// Something that is told apart by its place.
  package struct Argument: Sendable {
    package var name: String
    package var summary: String
    package var isOptional: Bool
    /// Whether more of its kind may follow: only the last one.
    package var isRepeatable: Bool

    package init(_ name: String, _ summary: String, isOptional: Bool = false, isRepeatable: Bool = false) {
      self.name = name
      self.summary = summary
      self.isOptional = isOptional
      self.isRepeatable = isRepeatable
    }
  }

  /// `--name value`, `--name=value`, or `--name` alone if it takes no value.
  package struct Option: Sendable {
    package var name: String
    /// What stands for the value in the help; nil for a switch.
    package var value: String?
    package var summary: String
    /// The only values it takes, if there is such a list.
    package var choices: [String]
    /// Whether it may be given more than once.
    package var isRepeatable = false

    package init(_ name: String, _ value: String? = nil, _ summary: String) {
      self.name = name
      self.value = value
      self.summary = summary
      choices = []
    }

    package init(repeatable name: String, _ value: String, _ summary: String) {
      self.init(name, value, summary)
      isRepeatable = true
    }

    package init(_ name: String, choices: [String], _ summary: String) {
      self.name = name
      value = choices.joined(separator: "|")
      self.summary = summary
      self.choices = choices
    }
  }

  package struct Example: Sendable {
    package var command: String
    package var summary: String

    package init(_ command: String, _ summary: String) {
      self.command = command
      self.summary = summary
    }
  }
}
