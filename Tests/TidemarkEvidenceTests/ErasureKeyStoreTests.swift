import Foundation
import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct ErasureKeyStoreTests {
  let fixture: ErasureFixture
  let person = "person-17"

  init() throws { fixture = try ErasureFixture() }

  private var names: [String] { fixture.disk.image.files(under: "/keys").map { String($0.dropFirst(6)) } }

  @Test func `a key is durable before it is given, and every process gives the same`() throws {
    let key = try fixture.store.key(for: person)
    try fixture.cutPower()
    #expect(try fixture.store.key(for: person) == key)
    #expect(try FileKeyStore(directory: "/keys", files: fixture.disk).find(key.id) == .key(key))
    #expect(try fixture.store.key(for: "person-18") != key && fixture.store.keys(of: person) == [key])
    #expect(names.count == 2 && names.allSatisfy { $0.hasSuffix(".key") })
  }

  @Test func `a key that another process destroyed is gone at the next use`() throws {
    let key = try fixture.store.key(for: person)
    let other = FileKeyStore(directory: "/keys", files: fixture.disk)
    #expect(try other.key(for: person) == key)
    try fixture.store.beginErasure(of: person)
    #expect(try other.find(key.id) == .destroyed && other.keys(of: person).isEmpty)
    #expect(try other.pendingErasures() == [PendingErasure(id: key.id, key: key)])
    // A new event of the same subject gets a new key, which the erasure under way does not touch.
    let next = try other.key(for: person)
    #expect(next.id != key.id && next.pseudonym != key.pseudonym && next.secret != key.secret)
    try fixture.store.destroy(key.id)
    #expect(try other.find(key.id) == .destroyed && other.find(next.id) == .key(next) && other.pendingErasures().isEmpty)
  }

  @Test func `two processes may each make a key of a subject, and erasing reaches both`() throws {
    let other = FileKeyStore(directory: "/keys", files: fixture.disk)
    _ = try (fixture.store.key(for: "person-1"), other.key(for: "person-1"))
    let keys = try [fixture.store.key(for: person), other.key(for: person)]
    #expect(keys[0].id != keys[1].id)
    #expect(try fixture.store.keys(of: person) == keys.sorted { $0.id < $1.id })
    for (number, store) in [fixture.store, other].enumerated() {
      try fixture.log.append(ErasableEvents(keys: store).seal(visit(of: person, UInt64(number)), for: person))
    }
    let report = try ErasableEvents(keys: other).erase(person, from: fixture.log)
    #expect(report.keys.map(\.id) == keys.map(\.id).sorted() && report.keys.map(\.eventCount) == [1, 1])
    #expect(fixture.files(with: markers(of: person) + keys.map(\.secret)) == [])
  }

  @Test func `a new key takes no longer where there are many`() throws {
    for number in 0..<20 { _ = try fixture.store.key(for: "person-\(number)") }
    let calls = fixture.disk.callCount
    _ = try fixture.store.key(for: "person-20")
    let few = fixture.disk.callCount - calls
    for number in 21..<60 { _ = try fixture.store.key(for: "person-\(number)") }
    let before = fixture.disk.callCount
    _ = try fixture.store.key(for: "person-60")
    #expect(fixture.disk.callCount - before == few && few < 10)
  }

  @Test func `an erasure that has begun, and a destruction, survive a power cut`() throws {
    let key = try fixture.store.key(for: person)
    try fixture.store.beginErasure(of: person)
    try fixture.cutPower()
    #expect(try fixture.store.pendingErasures().map(\.id) == [key.id] && fixture.store.find(key.id) == .destroyed)
    try fixture.store.destroy(key.id)
    try fixture.cutPower()
    #expect(try fixture.store.pendingErasures().isEmpty && fixture.store.find(key.id) == .destroyed)
    #expect(names.count == 1 && names[0].hasSuffix(".destroyed"))
  }

  @Test func `destroying overwrites first, and leaves a name alone`() throws {
    let key = try fixture.store.key(for: person)
    try fixture.store.beginErasure(of: person)
    fixture.disk.trace = []
    try fixture.store.destroy(key.id)
    let trace = (fixture.disk.trace ?? []).filter { Calls.changing.contains($0.kind) }
    let erasing = "/keys/\(key.id.description.filter { $0 != "-" }).erasing"
    let own = trace.filter { $0.path == erasing }
    #expect(own.map(\.kind) == [.write, .sync, .remove] && own[0].byteCount == 80 + person.utf8.count + 8)
    #expect(trace.last?.kind == .syncDirectory)
    #expect(names == ["\(key.id.description.filter { $0 != "-" }).destroyed"])
    #expect(fixture.disk.image.contents(of: "/keys/\(names[0])") == [])
    try fixture.store.destroy(key.id)
    try fixture.store.destroy(visitID(99))
    #expect(try names.count == 1 && fixture.store.find(visitID(99)) == .unknown)
  }

  @Test func `a key that is put back stays erased, and following the log destroys it again`() throws {
    try fixture.appendVisits(of: person, count: 1, from: 1)
    let name = try #require(names.first)
    let bytes = try #require(fixture.disk.image.contents(of: "/keys/\(name)"))
    let key = try #require(try fixture.store.keys(of: person).first)
    try fixture.events.erase(person, from: fixture.log)
    for tombstone in [true, false] {
      // With the tombstone, a file was put back; without it, the directory as it once was.
      if !tombstone { for name in names { try fixture.disk.image.delete("/keys/\(name)") } }
      try fixture.putFile("/keys/\(name)", bytes)
      try fixture.restart()
      #expect(try fixture.store.find(key.id) == (tombstone ? .destroyed : .key(key)))
      #expect(try fixture.store.keys(of: person).isEmpty == tombstone)
      #expect(try fixture.events.destroyKeysErased(in: fixture.log) == (tombstone ? [] : [key.id]))
      #expect(try fixture.store.find(key.id) == .destroyed && names.count == 1)
      #expect(fixture.files(with: [key.secret]) == [])
    }
  }

  @Test func `who else has the key is kept with it, and stays when it goes`() throws {
    let key = try fixture.store.key(for: person)
    try fixture.store.addHolder("server a.example", to: key.id)
    try fixture.store.addHolder("server b.example", to: key.id)
    try fixture.store.addHolder("server a.example", to: key.id)
    try fixture.restart()
    let found = try #require(try fixture.store.keys(of: person).first)
    #expect(found.holders == ["server a.example", "server b.example"] && found.secret == key.secret)
    for name in ["", "a\nb", "a\r\nb"] {
      #expect(erasureError { try fixture.store.addHolder(name, to: key.id) }?.code == .invalidArgument)
    }
    try fixture.store.destroy(key.id)
    #expect(names.count == 1 && names[0].hasSuffix(".destroyed"))
    #expect(fixture.disk.image.contents(of: "/keys/\(names[0])") == Array("server a.example\nserver b.example\n".utf8))
    #expect(erasureError { try fixture.store.addHolder("c", to: key.id) }?.code == .unknownKey)
  }

  @Test func `a key that is damaged at any bit is refused, and erased all the same`() throws {
    let key = try fixture.store.key(for: person)
    let path = "/keys/\(names[0])"
    let size = try #require(fixture.disk.image.contents(of: path)).count
    for bit in stride(from: 0, to: 8 * size, by: 5) {
      try fixture.disk.image.flipBit(bit, of: path)
      let store = FileKeyStore(directory: "/keys", files: fixture.disk)
      let refused = erasureError { _ = try store.find(key.id) }
      #expect(refused?.code == .damagedKey && refused?.file == path, "bit \(bit)")
      try fixture.disk.image.flipBit(bit, of: path)
    }
    let whole = try #require(fixture.disk.image.contents(of: path))
    for count in 0..<size {
      try fixture.disk.image.setContents(of: path, to: Array(whole[..<count]))
      #expect(erasureError { _ = try FileKeyStore(directory: "/keys", files: fixture.disk).find(key.id) }?.code == .damagedKey)
    }
    try fixture.restart()
    try fixture.store.destroy(key.id)
    #expect(try fixture.store.find(key.id) == .destroyed)
  }

  @Test func `the file of another key under its name is refused`() throws {
    let key = try fixture.store.key(for: person)
    let other = try fixture.store.key(for: "person-18")
    let paths = try [key, other].map { key in try #require(names.first { EventID($0.dropLast(4)) == key.id }) }
    try fixture.disk.image.setContents(of: "/keys/\(paths[0])", to: #require(fixture.disk.image.contents(of: "/keys/\(paths[1])")))
    let store = FileKeyStore(directory: "/keys", files: fixture.disk)
    #expect(try erasureError { _ = try store.find(key.id) }?.code == .damagedKey && store.find(other.id) == .key(other))
  }

  @Test func `on a real disk only the owner may look, and a store that is open to others is refused`() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: directory) }
    func mode(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
    let key = try FileKeyStore(directory: directory).key(for: person)
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
    #expect(try mode(directory) == 0o700 && mode("\(directory)/\(name)") == 0o600)
    let store = FileKeyStore(directory: directory)
    for path in ["\(directory)/\(name)", directory] {
      let before = try #require(try mode(path))
      try FileManager.default.setAttributes([.posixPermissions: before | 0o040], ofItemAtPath: path)
      #expect(erasureError { _ = try FileKeyStore(directory: directory).keys(of: person) }?.code == .keysNotPrivate)
      try FileManager.default.setAttributes([.posixPermissions: before], ofItemAtPath: path)
    }
    #expect(try store.find(key.id) == .key(key))
    try store.addHolder("a", to: key.id)
    try store.destroy(key.id)
    let left = try FileManager.default.contentsOfDirectory(atPath: directory)
    #expect(left.count == 1 && left[0].hasSuffix(".destroyed"))
    #expect(try mode("\(directory)/\(left[0])") == 0o600)
  }
}
