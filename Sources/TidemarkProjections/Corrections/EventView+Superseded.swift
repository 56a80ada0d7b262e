internal import TidemarkLog

extension EventView {
  var hasExtensions: Bool { record.u16(46) > 0 }

  /// The event that this one corrects.
  var superseded: EventID? {
    get throws {
      guard hasExtensions else { return nil }
      var target: EventID?
      for case .supersedes(let id) in try extensions {
        if target != nil && target != id { throw UnreadableEvent("it supersedes more than one event") }
        target = id
      }
      return target
    }
  }
}
