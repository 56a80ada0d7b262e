/// What the command line asks for.
struct Settings: Sendable {
  static let usage = """
    usage: tidemark-simulate [options]

    Runs the engine, and a server, on a simulated disk, breaks the disk in every way it knows, and checks the invariants of
    Specs/recovery.md and Specs/protocol.md.
    Prints one line per layer; exits with 1 if an invariant was broken, and says how to see it again.

      --layer NAME     only this layer: cut, exhaustive, fault, flip or server
      --seconds S      stop a layer after so many seconds
      --states N       stop a layer after so many states; default: what --ci does
      --seed S         another seed; default 1
      --workload N     only the piece of work with this number, and tell what it does
      --length L       exhaustive: the longest workload; default 3
      --workers N      threads; default: one for each processor
      --ci             the sizes that every change is tested with
      --images FOLDER  only write what cuts leave of N workloads (--states, default 200), as plain files for other readers
      --bugs           check that each seeded bug is caught within its bound (or within --states N), and that without a bug nothing
                       is broken in the same states (needs a build with TIDEMARK_SEEDED_BUGS=1)
      --bug NAME       run with this seeded bug; with --bugs: check only this one
      --help           this text

    examples:
      tidemark-simulate --ci
      tidemark-simulate --layer cut --seconds 3600 --seed 42
      tidemark-simulate --layer cut --seed 42 --workload 1234
    """

  var layer: String?
  var seconds: Double?
  var states: Int?
  var seed: UInt64 = 1
  var workload: Int?
  var length = 3
  var workers: Int?
  var isCI = false
  var images: String?
  var checksBugs = false
  var bug: String?
  var wantsHelp = false

  struct Problem: Error { let text: String }

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      switch option {
      case "--layer": layer = try Self.value(option, &rest)
      case "--seconds": seconds = try Self.number(option, &rest)
      case "--states": states = try Self.number(option, &rest)
      case "--seed": seed = try Self.number(option, &rest)
      case "--workload": workload = try Self.number(option, &rest)
      case "--length": length = try Self.number(option, &rest)
      case "--workers": workers = try Self.number(option, &rest)
      case "--ci": isCI = true
      case "--images": images = try Self.value(option, &rest)
      case "--bugs": checksBugs = true
      case "--bug": bug = try Self.value(option, &rest)
      case "--help", "-h": wantsHelp = true
      default: throw Problem(text: "unknown option \(option)")
      }
    }
  }

  private static func value(_ option: String, _ rest: inout ArraySlice<String>) throws -> String {
    guard let value = rest.popFirst() else { throw Problem(text: "\(option) needs a value") }
    return value
  }

  private static func number<Number: LosslessStringConvertible>(_ option: String, _ rest: inout ArraySlice<String>) throws -> Number {
    let text = try value(option, &rest)
    guard let number = Number(text) else { throw Problem(text: "\(option) needs a number, not \(text)") }
    return number
  }
}
