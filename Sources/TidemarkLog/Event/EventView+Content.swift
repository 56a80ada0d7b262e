extension EventView {
  /// A copy with the subject, actor, content type, extensions and data of another: what the same event says once it was opened. What is
  /// longer than a record can have it is cut.
  package func copy(showing content: NewEvent) -> Event {
    let subject = (content.subject ?? "").utf8Prefix(Record.subjectLimit).utf8
    let actor = (content.actor ?? "").utf8Prefix(255).utf8
    let contentType = (content.contentType ?? "").utf8Prefix(255).utf8
    let encoded = EventExtension.encode(content.extensions)
    let extensions = encoded.count > Int(UInt16.max) ? [] : encoded
    var bytes = record.slice(0, Record.fixedLength).array()
    bytes.store(UInt8(actor.count), at: 42)
    bytes.store(UInt8(contentType.count), at: 43)
    bytes.store(UInt16(subject.count), at: 44)
    bytes.store(UInt16(extensions.count), at: 46)
    bytes.add(typeBytes)
    bytes.append(contentsOf: subject)
    bytes.append(contentsOf: actor)
    bytes.append(contentsOf: contentType)
    bytes += extensions
    bytes += content.data
    bytes.store(UInt32(bytes.count), at: 0)
    return Event(bytes: bytes, position: 0, length: bytes.count, offset: offset, session: nil)
  }
}
