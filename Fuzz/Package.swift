// swift-tools-version: 6.2
import PackageDescription

// The engine's sources are here through links: the fuzzers see what other packages may not, and the root package has nothing of them.

// Of several `-sanitize`, the compiler takes the last, and the build system gives one for each in no certain order: so both are named in
// one, behind the `--sanitize fuzzer` that the build system itself needs to know of.
let sanitizers = "-sanitize=address,fuzzer"

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableExperimentalFeature("Lifetimes"),
  .define("TIDEMARK_PLANTED_TRAPS"),
  .unsafeFlags([sanitizers, "-enable-testing", "-assert-config", "Debug"]),
]

let package = Package(
  name: "tidemark-fuzz",
  products: [
    .executable(name: "tidemark-fuzz", targets: ["TidemarkFuzz"])
  ],
  targets: [
    .systemLibrary(name: "CLZ4", pkgConfig: "liblz4"),
    .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash"),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto"),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium"),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl"),
    .target(name: "CPlatform", cSettings: [.unsafeFlags(["-fsanitize=address"])]),
    .target(name: "TidemarkLog", dependencies: ["CLZ4", "CXXHash", "CPlatform"], swiftSettings: settings),
    .target(name: "TidemarkText", swiftSettings: settings),
    .target(name: "TidemarkProjections", dependencies: ["TidemarkLog", "TidemarkText"], swiftSettings: settings),
    .target(
      name: "TidemarkEvidence", dependencies: ["CCrypto", "CSodium", "TidemarkLog", "TidemarkText"],
      resources: [.embedInCode("Export/verify.py")], swiftSettings: settings),
    .target(name: "TidemarkProtocol", dependencies: ["TidemarkEvidence", "TidemarkLog", "TidemarkText"], swiftSettings: settings),
    .target(
      name: "TidemarkReplication",
      dependencies: ["CCurl", "TidemarkEvidence", "TidemarkLog", "TidemarkProjections", "TidemarkProtocol", "TidemarkText"],
      swiftSettings: settings),
    // Of the server what it makes of a shipment; the rest has no bytes of others to read that these targets don't.
    .target(
      name: "TidemarkServer", dependencies: ["TidemarkEvidence", "TidemarkLog", "TidemarkProjections", "TidemarkProtocol"],
      sources: ["Ingest/Examination.swift", "Ingest/ShipmentRecord.swift", "Ingest/Verdict.swift"], swiftSettings: settings),
    .target(
      name: "TidemarkTool",
      dependencies: ["TidemarkEvidence", "TidemarkLog", "TidemarkProjections", "TidemarkReplication", "TidemarkText"],
      exclude: ["Bench", "Commands", "Evidence", "Replication", "Server", "Tidemark.swift"], swiftSettings: settings),
    .target(name: "TestSupport", dependencies: ["TidemarkLog"], swiftSettings: settings),
    .executableTarget(
      name: "TidemarkFuzz",
      dependencies: [
        "TestSupport", "TidemarkEvidence", "TidemarkLog", "TidemarkProjections", "TidemarkProtocol", "TidemarkServer", "TidemarkText",
        "TidemarkTool",
      ],
      swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])], linkerSettings: [.unsafeFlags([sanitizers])]),
  ]
)
