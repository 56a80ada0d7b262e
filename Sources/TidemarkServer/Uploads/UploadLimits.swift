/// What a server takes of files.
package struct UploadLimits: Sendable {
  /// The longest file, in bytes.
  package var byteCount: UInt64 = 1 << 30
  /// Uploads that one device may have begun and not finished.
  package var openPerDevice = 64
  /// Seconds after the last part until an unfinished upload is dropped: a week.
  package var lifetime: UInt64 = 7 * 86_400

  package init() {}
}
