/// What sending costs a device at the moment.
///
/// ```swift
/// var conditions = Conditions()
/// conditions.isMetered = true
/// ```
public struct Conditions: Sendable, Equatable {
  /// Whether there is a network at all. If not, nothing is tried.
  public var isReachable = true
  /// Whether it is paid by the byte: then attempts after failures come more rarely.
  public var isMetered = false
  /// Whether the user asked to save data: then bulk logs and attachments wait.
  public var isConstrained = false
  /// The charge of the battery in percent; nil on mains. Below 15, bulk logs and attachments wait.
  public var batteryPercent: Int?

  /// A network that costs nothing.
  public init() {}

  static let lowBatteryPercent = 15

  /// Whether something of a priority may be sent.
  func allow(_ priority: LanePriority) -> Bool {
    guard isReachable else { return false }
    if priority < .bulk { return true }
    return !isConstrained && batteryPercent.map { $0 >= Self.lowBatteryPercent } ?? true
  }
}

/// Who knows a device's ``Conditions``: the host. ``AlwaysReachable`` is the default.
///
/// ```swift
/// struct Radio: ConditionSource {
///   var conditions: Conditions { radio.conditions }
///   func observe(_ changed: @escaping @Sendable () -> Void) { radio.onChange = changed }
/// }
/// ```
public protocol ConditionSource: Sendable {
  /// As they are now.
  var conditions: Conditions { get }
  /// Is called once; from then on `changed` is to be called after each change, from any thread.
  func observe(_ changed: @escaping @Sendable () -> Void)
}

/// A network that is always there.
public struct AlwaysReachable: ConditionSource {
  /// Makes one.
  public init() {}
  public var conditions: Conditions { Conditions() }
  public func observe(_ changed: @escaping @Sendable () -> Void) {}
}

/// What goes first where several logs of one device wait.
public enum LanePriority: UInt8, Sendable, Comparable, CaseIterable {
  /// What somebody ashore waits for.
  case urgent = 0
  /// The default.
  case normal = 1
  /// What may wait for a better network, such as traces.
  case bulk = 2
  /// Files that events name: last of all.
  case attachments = 3

  public static func < (left: LanePriority, right: LanePriority) -> Bool { left.rawValue < right.rawValue }
}
