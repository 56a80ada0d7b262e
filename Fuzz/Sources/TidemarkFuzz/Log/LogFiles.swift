import TestSupport
@testable import TidemarkLog

/// The files of a log, by their paths below its directory.
struct LogFiles {
  struct File {
    var path: String
    var bytes: [UInt8]

    var isSegment: Bool { path.hasPrefix("segments/") }
    var isSealed: Bool { path.hasSuffix(".sealed") }
  }

  static let directory = "/log"
  static let byteLimit = 1 << 17
  static let fileLimit = 16

  var files: [File] = []

  /// A disk with these files on it. The first of several files of one path counts.
  func image() -> DiskImage {
    var image = Self.empty
    for file in files {
      // A name that can't be made (a directory is missing, something stands there) is a file that is not there.
      try? image.setContents(of: "\(Self.directory)/\(file.path)", to: file.bytes)
    }
    return image
  }

  private static let empty: DiskImage = {
    let disk = SimulatedDisk()
    for part in ["", "/segments", "/index", "/torn"] { try? disk.makeDirectory(directory + part) }
    var image = disk.image
    image.syncEverything()
    return image
  }()
}

// MARK: As an input

extension LogFiles {
  private enum Name: UInt8, CaseIterable {
    case identity
    case open
    case sealed
    case ids
    case unfinished
    case free
  }

  /// A file's name need not agree with what is in it.
  private static let hasOtherName: UInt8 = 0x80

  /// Reads files until the input ends: a byte that tells the name, the number of packed bytes, and these. Segments and indexes are named by
  /// their own first page, so that a mutated page keeps its name; with bit 7 the name stands before them.
  init(_ input: inout Input) {
    var left = Self.byteLimit
    while !input.isAtEnd, files.count < Self.fileLimit {
      let code = input.u8()
      let kind = Name(rawValue: code & 0x7F % UInt8(Name.allCases.count)) ?? .free
      let own = code & Self.hasOtherName == 0 ? nil : (input.u64(), input.u64(), EventID(high: input.u64(), low: input.u64()))
      let bytes = Packed.unpack(input.take(Int(input.u16())), limit: left)
      left -= bytes.count
      files.append(File(path: Self.path(kind, own, bytes), bytes: bytes))
    }
  }

  private static func path(_ kind: Name, _ own: (first: UInt64, end: UInt64, id: EventID)?, _ bytes: [UInt8]) -> String {
    let page = bytes.rawSpan
    func word(_ at: Int) -> UInt64 { page.byteCount >= at + 8 ? page.u64(at) : 0 }
    func segment(_ form: SegmentName.Form) -> String {
      let id = own?.id ?? (page.byteCount >= 80 ? page.id(64) : .zero)
      return "segments/" + SegmentName(base: own?.first ?? word(80), segmentID: id, form: form).text
    }
    switch kind {
    case .identity: return "identity"
    case .open: return segment(.open)
    case .sealed: return segment(.sealed)
    case .ids: return "index/" + IDIndex.name(own?.first ?? word(48), own?.end ?? word(56))
    case .unfinished: return segment(.open) + LogDirectory.unfinished
    case .free: return "segments/\(own?.first ?? 0)"
    }
  }

  /// The input that these files are read from.
  func packed() -> [UInt8] {
    var input: [UInt8] = []
    for file in files {
      let kind: Name =
        file.path == "identity" ? .identity : file.path.hasSuffix(".ids") ? .ids : file.path.hasSuffix(".sealed") ? .sealed : .open
      let packed = Packed.pack(file.bytes)
      input.append(kind.rawValue)
      input.add(UInt16(packed.count))
      input += packed
    }
    return input
  }
}

// MARK: The vectors

extension LogFiles {
  /// Reads a log of `Specs/vectors`.
  init(directory: String) throws {
    let disk = POSIXFileSystem()
    for part in ["", "segments/", "index/"] where try disk.status("\(directory)/\(part)") != nil {
      for name in try disk.list("\(directory)/\(part)").sorted() {
        let path = "\(directory)/\(part)\(name)"
        guard let status = try disk.status(path), !status.isDirectory, name != "lock" else { continue }
        let file = try disk.open(path, .read)
        var bytes = [UInt8](repeating: 0, count: Int(status.byteCount))
        _ = try file.read(bytes.count, at: 0, into: &bytes, at: 0)
        files.append(File(path: part + name, bytes: bytes))
      }
    }
  }
}

/// The logs that inputs start from. Inputs name them by their number: add at the end.
enum Vectors {
  static let names = [
    "empty", "one-event", "all-fields", "batches", "sessions", "sealed", "stored-raw", "id-index", "trimmed", "unsealed", "recovered",
    "damaged-torn-tail", "damaged-frame", "damaged-sealed-frame", "damaged-footer", "damaged-header", "damaged-identity",
    "missing-segment", "missing-oldest", "missing-newest",
  ]

  // Set once, before the first input is run.
  nonisolated(unsafe) private(set) static var logs: [LogFiles] = []

  static func load(from directory: String) throws { logs = try names.map { try LogFiles(directory: "\(directory)/\($0)") } }

  static func log(_ name: String) -> LogFiles {
    guard let index = names.firstIndex(of: name), index < logs.count else { violated("the vectors were not loaded") }
    return logs[index]
  }
}
