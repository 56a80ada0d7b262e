/// The other machine of a plug pull: it writes down what was acknowledged, because it keeps its power.
///
/// It serves any number of runs, of each one connection: a machine whose plug was pulled never says that it is gone, so a new connection
/// takes over from the old. Whoever can reach the port can add to the files of the folder, and to nothing else.
package final class Witness {
  /// Which port it listens on.
  package let port: UInt16
  private let folder: String
  private let name: String
  private let lock: LockedFile
  private let listener: Int32
  private var connections: [Connection] = []
  private let say: (String) -> Void

  package static let defaultPort: UInt16 = 7433
  private static let nameFile = "witness"
  private static let connectionLimit = 64
  private static let runLimit = 1_000

  /// Opens or makes the folder and listens.
  ///
  /// - Parameters:
  ///   - port: 0 for any that is free.
  ///   - say: called with a line on all that people may want to know.
  package init(folder: String, port: UInt16, say: @escaping (String) -> Void) throws(CrashError) {
    Libc.prepare()
    self.folder = try Lab.claim(folder, marker: Self.nameFile)
    self.say = say
    let path = "\(self.folder)/\(Self.nameFile)"
    lock = try LockedFile(path, .either)
    let file = lock.descriptor
    let text = String(decoding: Libc.read(file, count: 100, at: 0), as: UTF8.self)
    if text.isEmpty {
      name = Libc.newName()
      try Libc.writeAll(file, Array("\(name)\n".utf8), path)
      guard Libc.syncData(file) else { throw Libc.failure("can't sync", path) }
      try Libc.syncDirectory(self.folder)
    } else {
      name = String(text.dropLast())
      guard text.last == "\n", WitnessLine.isName(name) else {
        throw CrashError(.environment, "can't be a witness there", place: path, why: "this is not the name of a witness")
      }
    }
    (listener, self.port) = try Libc.listen(port)
  }

  deinit { Libc.close(listener) }

  /// Serves until it is told to stop, which it asks several times a second.
  package func serve(until isStopped: () -> Bool) {
    while !isStopped() {
      let ready = Libc.areReadable([listener] + connections.map(\.descriptor), milliseconds: 200)
      for (connection, isReady) in zip(connections, ready.dropFirst()) where isReady && connection.isOpen { hear(connection) }
      connections.removeAll { !$0.isOpen }
      if ready[0], let descriptor = Libc.accept(listener) {
        let connection = Connection(descriptor)
        if connections.count < Self.connectionLimit { connections.append(connection) } else { connection.refuse("too many connections") }
      }
    }
    for connection in connections { connection.close() }
    connections = []
  }

  /// One machine that has connected.
  private final class Connection {
    let descriptor: Int32
    private(set) var isOpen = true
    var lines = LineBuffer()
    var isGreeted = false
    var run: String?
    var record: RunRecord?

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    func answer(_ lines: [WitnessLine]) {
      guard isOpen, !lines.isEmpty else { return }
      do { try Libc.writeAll(descriptor, WitnessLine.bytes(lines), "connection") } catch { close() }
    }

    func refuse(_ why: String) {
      answer([.refused(why: String(why.filter { $0.isASCII && $0 != "\n" }.prefix(200)))])
      close()
    }

    func close() {
      if isOpen { Libc.close(descriptor) }
      isOpen = false
      record = nil
    }
  }

  /// Takes what a machine sent. It is durable before it is answered.
  private func hear(_ connection: Connection) {
    var bytes: [UInt8] = []
    guard Libc.read(connection.descriptor, into: &bytes) > 0 else {
      if let run = connection.run { say("run \(run.prefix(8)): the connection ended") }
      connection.close()
      return
    }
    var answers: [WitnessLine] = []
    var refusal: String?
    for line in connection.lines.take(bytes) {
      guard let line = WitnessLine(line) else {
        refusal = "a line that is malformed or too long"
        break
      }
      refusal = take(line, connection, &answers)
      if refusal != nil { break }
    }
    if connection.lines.isTooLong { refusal = refusal ?? "a line that is too long" }
    do { try connection.record?.sync() } catch {
      say("\(error)")
      connection.refuse("the witness can't write: \(error.why)")
      return
    }
    connection.answer(answers)
    if let refusal {
      say("\(connection.run.map { "run \($0.prefix(8))" } ?? "a connection"): refused: \(refusal)")
      connection.refuse(refusal)
    }
  }

  /// Obeys one line; returns why it is refused, if it is.
  private func take(_ line: WitnessLine, _ connection: Connection, _ answers: inout [WitnessLine]) -> String? {
    switch line {
    case .hello(let version):
      guard !connection.isGreeted else { return "one greeting is enough" }
      guard version == WitnessLine.version else { return "this witness speaks version \(WitnessLine.version)" }
      connection.isGreeted = true
      answers.append(.witness(name: name))
    case .create(let run), .resume(let run):
      guard connection.isGreeted, connection.record == nil else { return "no run can be named now" }
      let isNew = line == .create(run: run)
      if let why = open(run, isNew: isNew, connection) { return why }
      if let record = connection.record, !isNew { answers += record.history.lines }
      answers.append(.ok)
    case .begin, .judged:
      guard let record = connection.record else { return "no run was named" }
      if let why = record.take(line) { return why }
      say("run \(connection.run?.prefix(8) ?? ""): round \(record.history.rounds.count) \(line == .begin ? "begins" : "was judged")")
      answers.append(.ok)
    default:
      guard let record = connection.record else { return "no run was named" }
      return record.take(line)
    }
    return nil
  }

  private func open(_ run: String, isNew: Bool, _ connection: Connection) -> String? {
    let isThere = Libc.kind(of: RunRecord.path(run, in: folder)) != nil
    if isNew == isThere { return isNew ? "that run is there already" : "there is no such run" }
    if isNew, (Libc.names(in: folder) ?? []).count > Self.runLimit { return "there are too many runs" }
    for other in connections where other.run == run && other !== connection { other.refuse("another connection took over") }
    do { connection.record = try isNew ? RunRecord(new: run, in: folder) : RunRecord(run, in: folder) } catch {
      say("\(error)")
      return "\(error.what): \(error.why)"
    }
    connection.run = run
    say("run \(run.prefix(8)): \(isNew ? "begins" : "goes on")")
    return nil
  }
}
