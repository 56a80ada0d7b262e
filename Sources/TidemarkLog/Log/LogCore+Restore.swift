extension LogCore {
  /// Goes on in a new epoch, whose history is that of this log up to its end. Everything before is made durable first.
  ///
  /// What was written stays where it is, in segments of the old epoch; the identity tells the epochs apart.
  func beginEpoch(fork: Offset, rootHash: [UInt8]?) throws(LogError) -> LogIdentity.Epoch {
    try withTurn { () throws(LogError) -> LogIdentity.Epoch in
      try self.checkWriter()
      try self.flush()
      let old = lock.withLock { self.identity }
      if fork > lock.withLock({ self.published }) {
        throw LogError(
          .offsetOutOfRange, "an epoch can't fork at offset \(fork)", why: "the log ends before", advice: "name a smaller size")
      }
      let epoch = LogIdentity.Epoch(
        id: environment.randomID(), parent: old.epochID, forkSize: fork, created: environment.clock.now().time, rootHash: rootHash)
      let epochs = (old.epochs + [epoch]).suffix(IdentityPages.epochLimit)
      let new = LogIdentity(
        logID: old.logID, created: old.created, contentDigestKind: old.contentDigestKind, epochs: Array(epochs))
      try checkDirectory()
      try Self.writeIdentity(new, generation: 1, directory, files)
      lock.withLock { self.identity = new }
      let segment = try self.readySegment(for: 0)
      if !segment.isEmpty { try self.roll(segment) }
      return epoch
    }
  }

  /// Appends records that another copy of this history holds behind this log's end, byte for byte, in a frame of their own, and syncs them.
  /// Returns the offset behind them.
  ///
  /// - Parameters:
  ///   - records: whole records, one behind the other, at most 64 MiB.
  ///   - base: where they stood, which must be the end of this log.
  func restore(_ records: RawSpan, at base: Offset) throws(LogError) -> Offset {
    var count: UInt32 = 0
    var userEnd: UInt32 = 0
    var position = 0
    while position < records.byteCount {
      guard let length = Record.length(at: position, in: records) else {
        throw LogError(
          .corrupt, "a record that is to be restored is malformed", position: UInt64(position),
          offsets: base + UInt64(count)..<base + UInt64(count) + 1,
          why: "no record begins there", advice: "get it again from where it came from")
      }
      count += 1
      if records.u8(position + 4) == EventKind.event.rawValue { userEnd = count }
      position += length
    }
    if count == 0 || position > LogOptions.batchByteLimit || base + UInt64(count) > Record.offsetLimit - (1 << 32) {
      throw LogError(
        .invalidArgument, "these records can't be restored together", why: "\(count) records take \(position) bytes",
        advice: "give at least one, and at most 64 MiB")
    }
    return try withTurn { () throws(LogError) -> Offset in
      try self.checkWriter()
      try self.flush()
      return try self.commit(records, count: count, userEnd: userEnd, at: base)
    }
  }

  private func commit(_ records: RawSpan, count: UInt32, userEnd: UInt32, at base: Offset) throws(LogError) -> Offset {
    lock.lock()
    defer { lock.unlock() }
    guard base == published else {
      throw LogError(
        .unexpectedSize, "records can only be restored at the end", offsets: base..<base + UInt64(count),
        why: "the log ends at offset \(published)", advice: "restore from there")
    }
    var frame = Gathering(capacity: records.byteCount + FrameHeader.byteCount + 8)
    frame.buffer.append(records)
    frame.didRestore(count: count, userEnd: userEnd)
    let result = commit(&frame)
    finish(frame, result).wake()
    // Whatever session they brought, this writer's own comes before its next event.
    if case .success = result { needsSession = true }
    return try result.get() + UInt64(count)
  }
}
