/// What a replicator does about a log. Every state that is not work has a way out; see ``wayOut``.
public enum ReplicationState: String, Sendable, CaseIterable {
  /// It was not started, or was stopped.
  case stopped
  /// The server has accepted everything.
  case idle
  /// A new access token was asked for.
  case refreshing
  /// The server was asked where it stands.
  case handshaking
  /// Both positions are being compared.
  case settling
  /// Events are on their way.
  case shipping
  /// What the server answered is being written down.
  case storing
  /// The server got other bytes than were sent: the log's files are being checked.
  case checking
  /// An attempt failed; the next one comes by itself, at the time that the status shows.
  case waiting
  /// The host says that there is no network, or none that this lane may use.
  case waitingForNetwork = "waiting-for-network"
  /// The server no longer takes this device's credentials.
  case waitingForSignIn = "waiting-for-sign-in"
  /// The server removed the device. Everything is kept, nothing is sent.
  case removed
  /// The log can't be read, or what the server answered can't be written down. Tried again by itself.
  case storageTrouble = "storage-trouble"
  /// The server holds another history of this log, or more of it than this device.
  case needsNewEpoch = "needs-new-epoch"
  /// The server refused a request in a way that trying again does not change.
  case refused

  /// Whether nothing happens in it by itself, but for what ``wayOut`` says.
  public var isSideState: Bool {
    switch self {
    case .waitingForNetwork, .waitingForSignIn, .removed, .storageTrouble, .needsNewEpoch, .refused: true
    default: false
    }
  }

  /// What leads out of it, for people; nil where nothing has to be done.
  public var wayOut: String? {
    switch self {
    case .stopped: "start the replicator"
    case .waitingForNetwork: "it goes on when the host reports a network that it may use"
    case .waitingForSignIn: "enrol the device again with a new code"
    case .removed: "ask the operator to admit the device again, and enrol it; or sign out"
    case .storageTrouble: "free space or restore access to the log's directory; it is tried again by itself"
    case .needsNewEpoch: "put the newer copy of the log back if there is one; otherwise go on in a new epoch"
    case .refused: "update the program or the server's limits, then start the replicator again"
    default: nil
    }
  }

  /// Whether an answer, or work of this device, is awaited.
  var isWork: Bool {
    switch self {
    case .refreshing, .handshaking, .settling, .shipping, .storing, .checking: true
    default: false
    }
  }

  /// Whether it ends with a decision of a person only.
  var isFinal: Bool {
    switch self {
    case .stopped, .waitingForSignIn, .removed, .needsNewEpoch, .refused: true
    default: false
    }
  }
}

/// What went wrong last.
public struct Trouble: Sendable, Equatable {
  /// What kind of trouble: who has to do something about it.
  public enum Category: String, Sendable, CaseIterable {
    /// No answer, or one that is not the server's.
    case transport
    /// The server can't at the moment.
    case retryable
    /// About the credential.
    case auth
    /// The positions differ.
    case conflict
    /// The request will never be taken in this form.
    case permanent
    /// Bytes were damaged.
    case corrupt
    /// About the files of this device.
    case storage
  }

  /// Its kind.
  public var category: Category
  /// For people.
  public var detail: String

  /// Describes trouble.
  public init(_ category: Category, _ detail: String) {
    self.category = category
    self.detail = detail
  }
}
