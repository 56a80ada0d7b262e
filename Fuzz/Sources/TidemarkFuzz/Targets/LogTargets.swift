@testable import TidemarkLog

/// Bytes, as the files of a log.
enum RecoveryTarget {
  /// The first byte says how to open, the second which checksums are made right: all, or those that its bits name.
  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let settings = Exercise.Settings(input.u8())
    let repair = Repair(rawValue: input.u8())
    var files = LogFiles(&input)
    repair.apply(to: &files)
    Exercise(files, settings).run()
  }

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    var inputs: [(name: String, bytes: [UInt8])] = []
    for (name, log) in zip(Vectors.names, Vectors.logs) {
      let packed = log.packed()
      if packed.count > 6 << 10 || log.files.count > LogFiles.fileLimit { continue }
      inputs.append((name, [UInt8(inputs.count) << 2 & 0x7C, 0] + packed))
      inputs.append((name + "-repaired", [0x38, Repair.all.rawValue] + packed))
    }
    return inputs
  }
}

/// A log of the vectors, and edits of it.
enum EditTarget {
  /// The first byte says how to open, the second is the number of a log, the third which checksums are left wrong; then come edits.
  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let settings = Exercise.Settings(input.u8())
    var surgeon = Surgeon(Vectors.logs[Int(input.u8()) % Vectors.logs.count])
    let repair = Repair.all.subtracting(Repair(rawValue: input.u8()))
    var count = 0
    while !input.isAtEnd, count < 24 {
      surgeon.operate(&input)
      count += 1
    }
    repair.apply(to: &surgeon.log)
    Exercise(surgeon.log, settings).run()
  }

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    var inputs = Vectors.names.indices.map { index in
      (name: "log-\(Vectors.names[index])", bytes: [index % 2 == 0 ? 0x38 : 0x78, UInt8(index), 0] as [UInt8])
    }
    for operation in Surgeon.Operation.allCases {
      for log in [1, 3, 5, 9] as [UInt8] {
        inputs.append(("edit-\(operation)-\(log)", [0, log, 0, operation.rawValue, 1, 2, 3, 4, 5, 6, 7, 8]))
      }
    }
    return inputs
  }
}
