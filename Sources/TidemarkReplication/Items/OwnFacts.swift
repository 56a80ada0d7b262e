package import TidemarkLog
package import TidemarkProjections

/// What this device's own events say about items.
package struct OwnFactsState: Sendable, Equatable {
  /// Who has acknowledged which version, and where that was said first. No item is published in it.
  package internal(set) var acknowledgements = AcknowledgementState()
  /// In the order of offsets, by item.
  package internal(set) var transitions: [String: [Transition]] = [:]

  package struct Transition: Sendable, Equatable {
    package var event: EventID
    package var offset: Offset
    package var from: String
    package var to: String
  }
}

/// Folds the captures for ``OwnFactsState``.
package struct OwnFacts: Projection {
  package let name = "own-item-facts"
  package let version: UInt32 = 2
  /// The server takes nothing back either.
  package var takesCorrections: Bool { false }
  package var initial: OwnFactsState { OwnFactsState() }

  package init() {}

  package func apply(_ event: EventView, at place: Place, to state: inout OwnFactsState) throws {
    switch ItemFact(event) {
    case .acknowledgement(let item, let version, let actor):
      state.acknowledgements.take(.acknowledged(item: item, person: actor, version: version, place: nil), at: place)
    case .transition(let item, let from, let to):
      let transition = OwnFactsState.Transition(event: event.id, offset: event.offset, from: from, to: to)
      state.transitions[item, default: []].append(transition)
    case nil: break
    }
  }

  // u8 version of the coding; the acknowledgements; u64 number of transitions, each: item, id, u64 offset, from, to

  package func encode(_ state: OwnFactsState) -> [UInt8] {
    var bytes: [UInt8] = [1]
    bytes.add(data: state.acknowledgements.encode())
    bytes.add(UInt64(state.transitions.values.reduce(0) { $0 + $1.count }))
    for (item, transitions) in state.transitions {
      for transition in transitions {
        bytes.add(text: item)
        bytes.add(transition.event)
        bytes.add(transition.offset)
        bytes.add(text: transition.from)
        bytes.add(text: transition.to)
      }
    }
    return bytes
  }

  package func decode(_ bytes: [UInt8]) throws -> OwnFactsState {
    var reader = StateReader(bytes)
    guard try reader.u8() == 1 else { throw UnreadableEvent("its coding is of another version") }
    var state = OwnFactsState()
    state.acknowledgements = try AcknowledgementState(reader.data())
    for _ in 0..<(try reader.count(elementByteCount: 36)) {
      let item = try reader.text()
      state.transitions[item, default: []].append(
        OwnFactsState.Transition(event: try reader.id(), offset: try reader.u64(), from: try reader.text(), to: try reader.text()))
    }
    try reader.finish()
    return state
  }
}
