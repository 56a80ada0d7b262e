import BenchmarkSupport

let cases: [(name: String, run: @Sendable (Bench) async throws -> [Measurement])] = [
  ("append", measureAppend), ("batch", measureBatch), ("written", measureWritten), ("threads", measureThreads),
  ("replay", measureReplay), ("sealing", measureSealing), ("device", measureDevice), ("opening", measureOpening),
  ("memory", measureMemory), ("size", measureSize), ("sqlite", measureSQLite), ("fold", measureFold), ("evidence", measureEvidence),
  ("catch-up", measureCatchUp), ("ingest", measureIngest), ("receipt", measureReceipt), ("fleet", measureFleet),
  ("idle-device", measureIdleDevice),
  ("peers-append", measurePeersAppend), ("peers-batches", measurePeersBatches), ("peers-threads", measurePeersThreads),
  ("peers-device", measurePeersDevice), ("wake-up", measureWakeUp), ("peers-growth", measurePeersGrowth),
]

let help = """
  usage: tidemark-benchmark --directory DIR [options]

    --directory DIR           where to make files; on the file system to be measured
    --device NAME             its block device, such as loop0, for bytes and flushes
    --contenders FOLDER       programs of tools/peers --contenders
    --only NAME               one case: \(cases.map(\.name).joined(separator: ", "))
    --quick                   smaller numbers, for a first look
    --scale                   also a hundred million events, of this engine alone
    --check                   a few quick cases against plain C; exit code 1 if one is far off
    --rounds N                rounds of each case, at least 10 (15)
    --departures FILE         departures, one a line: id, type, subject, time, data, divided by tabs
    --outbox-byte-count N     what they take in an outbox table of SQLite
    --vacuumed-byte-count N   the same after VACUUM
    --shipping FOLDER         certificate.pem, key.pem, and the programs of Benchmarks/Shipping
    --postgresql FOLDER       the socket of a PostgreSQL that may be written to
    --fact NAME=VALUE         a fact for the report; can be repeated
    --output FOLDER           where to write the report: results.json, results.md and charts

  """

struct Options {
  var bench = Bench(directory: "")
  var only: String?
  var facts: [(name: String, value: String)] = []
  var output: String?
  var isCheck = false

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      switch option {
      case "--quick":
        bench.isQuick = true
        continue
      case "--scale":
        bench.isScaled = true
        continue
      case "--check":
        isCheck = true
        bench.isQuick = true
        continue
      default: break
      }
      guard let value = rest.popFirst() else { throw BenchmarkFailure(description: "\(option) is unknown or needs a value") }
      switch option {
      case "--directory": bench.directory = value
      case "--device": bench.device = value
      case "--only":
        guard cases.contains(where: { $0.name == value }) else { throw BenchmarkFailure(description: "there is no case \(value)") }
        only = value
      case "--rounds":
        guard let rounds = Int(value), rounds >= 10 else { throw BenchmarkFailure(description: "--rounds needs 10 or more") }
        bench.rounds = rounds
      case "--departures": bench.departures = value
      case "--outbox-byte-count": bench.outboxByteCount = try byteCount(value, for: option)
      case "--vacuumed-byte-count": bench.vacuumedByteCount = try byteCount(value, for: option)
      case "--shipping":
        bench.shipping = ShippingPrograms(
          certificate: value + "/certificate.pem", key: value + "/key.pem", sink: value + "/sink", client: value + "/postgresql")
      case "--postgresql": bench.shipping?.postgresql = value
      case "--fact":
        let parts = value.split(separator: "=", maxSplits: 1)
        facts.append((String(parts.first ?? ""), String(parts.last ?? "")))
      case "--contenders": bench.contenders = value
      case "--output": output = value
      default: throw BenchmarkFailure(description: "there is no option \(option)")
      }
    }
    if bench.directory.isEmpty { throw BenchmarkFailure(description: "--directory is missing") }
  }
}

private func byteCount(_ text: String, for option: String) throws -> UInt64 {
  guard let count = UInt64(text), count > 0 else { throw BenchmarkFailure(description: "\(option) needs a number of bytes") }
  return count
}

extension Options {
  /// Whether a case is wanted.
  func includes(_ name: String) -> Bool {
    isCheck ? regressionBounds.contains { $0.group == name } : only == nil || only == name
  }
}
