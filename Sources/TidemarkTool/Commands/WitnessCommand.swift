import TidemarkCrash
import TidemarkText

/// The other machine of `crashtest --witness`.
enum WitnessCommand {
  static let description = CommandDescription(
    "crashtest witness", "write down what a machine acknowledges until somebody pulls its plug",
    arguments: [.init("FOLDER", "an empty or new directory, or that of an earlier witness")],
    options: [.init("port", "N", "listen on this TCP port, 0 for any that is free (default \(Witness.defaultPort))")],
    notes: [
      "Runs on a machine that keeps its power, until Ctrl-C. Each line that the machine under test sends is synced before it counts, and "
        + "the results of all pulls are kept, so that FOLDER is worth keeping too. Who can reach the port can add runs to FOLDER and touch "
        + "nothing else; there is no password, so let only the machine under test reach it.",
      "See `tidemark help crashtest` for the other side, and Specs/witness.md for what is said.",
    ],
    examples: [.init("tidemark crashtest witness pulls", "be the witness of `tidemark crashtest DIR --witness HOST`")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let port = try arguments.number("port", in: 0...UInt64(UInt16.max)).map { UInt16(clamping: $0) } ?? Witness.defaultPort
    do {
      let witness = try Witness(folder: arguments.argument("FOLDER") ?? "", port: port) { line in
        output.line(line)
        try? output.flush()
      }
      output.line("listens on port \(witness.port); Ctrl-C ends it")
      try output.flush()
      witness.serve { Interrupt.isRequested }
      return .success
    } catch let error as CrashError {
      throw ToolError(error)
    }
  }
}
