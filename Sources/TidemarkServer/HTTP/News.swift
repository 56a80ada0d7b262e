internal import TidemarkLog

/// Tells whoever keeps streams open that there may be news.
final class News: Sendable {
  private let signal = Locked<@Sendable () -> Void>({})

  /// Takes what is to be called.
  func onNews(_ signal: @escaping @Sendable () -> Void) { self.signal.withLock { $0 = signal } }

  /// Something was committed, or a credential has changed.
  func tell() { signal.withLock { $0 }() }
}
