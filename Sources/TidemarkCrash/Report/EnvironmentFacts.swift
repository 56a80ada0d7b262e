/// What the run stood on.
package struct EnvironmentFacts: Sendable {
  package var system = ""
  package var processor = ""
  package var processorCount = 0
  package var fileSystem = ""
  package var mountOptions = ""
  package var device = ""
  package var model = ""
  /// `write back` or `write through`, as the kernel believes.
  package var writeCache = ""
  package var forcedUnitAccess = ""
  package var isRotational = ""
  package var virtualization = ""

  package init() {}

  /// Names and values, for people.
  package var rows: [(String, String)] {
    [
      ("system", system), ("processor", "\(processor), \(processorCount) cores"), ("virtual", virtualization), ("file system", fileSystem),
      ("mount options", mountOptions), ("device", device + (model.isEmpty ? "" : " (\(model))")), ("write cache", writeCache),
      ("FUA", forcedUnitAccess),
      ("rotational", isRotational),
    ]
  }

  package static func of(_ directory: String) -> EnvironmentFacts {
    var facts = EnvironmentFacts()
    facts.system = Libc.systemName()
    let processors = (Libc.text(of: "/proc/cpuinfo") ?? "").split(separator: "\n")
    facts.processor =
      processors.first { $0.hasPrefix("model name") }?.split(separator: ":").last.map { String($0.drop { $0 == " " }) } ?? "unknown"
    facts.processorCount = processors.count { $0.hasPrefix("processor") }
    facts.virtualization = virtualization(processors)
    guard let status = Libc.fileSystem(of: directory) else { return facts }
    facts.fileSystem = status.type
    let (major, minor) = ((status.device >> 8) & 0xFFF, (status.device & 0xFF) | ((status.device >> 12) & 0xFFF00))
    for line in (Libc.text(of: "/proc/self/mountinfo") ?? "").split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      guard words.count > 6, words[2] == "\(major):\(minor)", let dash = words.firstIndex(of: "-"), dash + 3 < words.count else { continue }
      facts.mountOptions = words[5] + ";" + words[dash + 3]
      facts.device = words[dash + 2]
    }
    let block = "/sys/dev/block/\(major):\(minor)"
    guard var folder = Libc.resolved(block) else { return facts }
    // A partition has no queue of its own.
    if Libc.kind(of: folder + "/queue") == nil, let parent = Libc.resolved(folder + "/..") { folder = parent }
    func word(_ file: String) -> String {
      (Libc.text(of: "\(folder)/\(file)") ?? "unknown").split { $0.isWhitespace }.joined(separator: " ")
    }
    facts.writeCache = word("queue/write_cache")
    facts.forcedUnitAccess = ["0": "no", "1": "yes"][word("queue/fua")] ?? "unknown"
    facts.isRotational = ["0": "no", "1": "yes"][word("queue/rotational")] ?? "unknown"
    facts.model = Libc.kind(of: folder + "/device/model") == nil ? "" : word("device/model")
    return facts
  }

  private static func virtualization(_ processors: [Substring]) -> String {
    let vendor = Libc.text(of: "/sys/class/dmi/id/sys_vendor").map { $0.split { $0.isWhitespace }.joined(separator: " ") }
    let isVirtual = processors.contains { $0.hasPrefix("flags") && $0.split(separator: " ").contains("hypervisor") }
    return (isVirtual ? "yes" : "not that it shows") + (vendor.map { " (\($0))" } ?? "")
  }
}
