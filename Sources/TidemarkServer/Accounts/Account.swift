package import TidemarkLog

/// A device that was enrolled.
package struct DeviceAccount: Sendable, Equatable {
  /// The server's name for it.
  package var id: EventID
  package var tenant: String
  /// Ed25519.
  package var publicKey: [UInt8]
  /// What people call it.
  package var name: String
  package var state: State
  /// Which items it gets: those without a place, and this one's; empty: only those without.
  package var place: String
  /// Likewise.
  package var person: String
  package var enrolled: Timestamp

  package enum State: String, Sendable, CaseIterable {
    case active
    /// For a while: it keeps what it has, and tries again.
    case suspended
    /// For good.
    case revoked
  }
}

/// Who sends a request.
package enum Credential: Sendable, Equatable {
  /// One device: its own logs, and what is meant for it.
  case device(DeviceAccount)
  /// A tenant's office: reads all of the tenant, and publishes.
  case office(tenant: String)
  /// Whoever runs the server.
  case `operator`
}
