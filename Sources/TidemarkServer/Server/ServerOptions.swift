package import TidemarkProtocol

/// How a server is run.
package struct ServerOptions: Sendable {
  /// The name in its key, such as `tidemark.example/1`. Only asked for at the first start: afterwards it is what devices have pinned.
  package var name = "tidemark-server"
  /// What it takes at once.
  package var limits = Limits()
  /// Whether what is accepted is settled by that, without an archive.
  package var settlesOnAccept = false
  /// What it takes of files.
  package var uploads = UploadLimits()

  /// What `/metrics` tells besides the server's own, in Prometheus's text format.
  package var metrics: @Sendable () -> String = { "" }

  /// How many change numbers a device may be behind; from further back it begins anew with a snapshot.
  package var deviceChanges: UInt64 = 100_000

  package init() {}
}
