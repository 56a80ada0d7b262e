// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableExperimentalFeature("Lifetimes"),
]

/// Mistakes for the simulations to find, which no other build contains: see `SeededBug`.
let seededBugs: [SwiftSetting] = Context.environment["TIDEMARK_SEEDED_BUGS"] == "1" ? [.define("TIDEMARK_SEEDED_BUGS")] : []

/// Test code is never optimised, whatever it tests: Swift 6.3.1 crashes on some loops over a cursor in asynchronous functions when it
/// optimises for testing.
let tests = strict + [.unsafeFlags(["-Onone"])]

let package = Package(
  name: "tidemark",
  products: [
    .library(name: "TidemarkLog", targets: ["TidemarkLog"]),
    .library(name: "TidemarkProjections", targets: ["TidemarkProjections"]),
    .library(name: "TidemarkSQLite", targets: ["TidemarkSQLite"]),
    .library(name: "TidemarkEvidence", targets: ["TidemarkEvidence"]),
    .library(name: "TidemarkReplication", targets: ["TidemarkReplication", "TidemarkProtocol"]),
    .executable(name: "tidemark", targets: ["TidemarkTool"]),
    .executable(name: "tidemark-simulate", targets: ["Simulation"]),
    .executable(name: "tidemark-load", targets: ["Load"]),
  ],
  targets: [
    .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
    .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
    .systemLibrary(
      name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .target(name: "CPlatform"),
    .target(name: "TidemarkLog", dependencies: ["CLZ4", "CXXHash", "CPlatform"], swiftSettings: strict + seededBugs),
    .target(name: "TidemarkProjections", dependencies: ["TidemarkLog", "TidemarkText"], swiftSettings: strict),
    .target(name: "TidemarkSQLite", dependencies: ["CSQLite", "TidemarkLog", "TidemarkProjections"], swiftSettings: strict),
    .target(
      name: "TidemarkEvidence", dependencies: ["CCrypto", "CSodium", "TidemarkLog", "TidemarkText"],
      resources: [.embedInCode("Export/verify.py")], swiftSettings: strict),
    .target(name: "TidemarkText", swiftSettings: strict),
    .target(name: "TidemarkProtocol", dependencies: ["TidemarkEvidence", "TidemarkLog", "TidemarkText"], swiftSettings: strict),
    .target(
      name: "TidemarkReplication",
      dependencies: ["CCurl", "TidemarkEvidence", "TidemarkLog", "TidemarkProjections", "TidemarkProtocol", "TidemarkText"],
      swiftSettings: strict),
    .target(
      name: "TidemarkServer",
      dependencies: [
        "CMicrohttpd", "TidemarkEvidence", "TidemarkLog", "TidemarkProjections", "TidemarkProtocol", "TidemarkSQLite", "TidemarkText",
      ],
      resources: [.embedInCode("HTTP/openapi.json")], swiftSettings: strict + seededBugs),
    .target(name: "CCrash"),
    .target(name: "TidemarkCrash", dependencies: ["CCrash", "TidemarkLog", "TidemarkText"], swiftSettings: strict),
    .executableTarget(
      name: "TidemarkTool",
      dependencies: [
        "TidemarkCrash", "TidemarkEvidence", "TidemarkLog", "TidemarkProjections", "TidemarkProtocol", "TidemarkReplication",
        "TidemarkServer", "TidemarkSQLite", "TidemarkText",
      ],
      swiftSettings: strict),
    .target(name: "TestSupport", dependencies: ["TidemarkLog"], path: "Tests/TestSupport", swiftSettings: strict),
    .executableTarget(
      name: "Simulation",
      dependencies: ["TestSupport", "TidemarkEvidence", "TidemarkLog", "TidemarkProtocol", "TidemarkServer", "TidemarkText"],
      path: "Tests/Simulation", swiftSettings: strict + seededBugs),
    .executableTarget(
      name: "Load", dependencies: ["CCurl", "TidemarkEvidence", "TidemarkLog", "TidemarkProtocol", "TidemarkReplication"],
      path: "Tests/Load", swiftSettings: strict),
    .testTarget(name: "TidemarkLogTests", dependencies: ["TestSupport", "TidemarkLog"], swiftSettings: tests),
    .testTarget(
      name: "TidemarkProjectionsTests", dependencies: ["TestSupport", "TidemarkLog", "TidemarkProjections"], swiftSettings: tests),
    .testTarget(
      name: "TidemarkSQLiteTests",
      dependencies: ["CSQLite", "TestSupport", "TidemarkLog", "TidemarkProjections", "TidemarkSQLite"], swiftSettings: tests),
    .testTarget(
      name: "TidemarkEvidenceTests", dependencies: ["TestSupport", "TidemarkEvidence", "TidemarkLog"], swiftSettings: tests),
    .testTarget(
      name: "TidemarkProtocolTests", dependencies: ["TestSupport", "TidemarkEvidence", "TidemarkLog", "TidemarkProtocol", "TidemarkText"],
      swiftSettings: tests),
    .testTarget(
      name: "TidemarkReplicationTests",
      dependencies: [
        "TestSupport", "TidemarkEvidence", "TidemarkLog", "TidemarkProtocol", "TidemarkReplication", "TidemarkServer", "TidemarkText",
        "TidemarkTool",
      ],
      swiftSettings: tests),
    .testTarget(
      name: "TidemarkServerTests",
      dependencies: [
        "TestSupport", "TidemarkEvidence", "TidemarkLog", "TidemarkProjections", "TidemarkProtocol", "TidemarkReplication",
        "TidemarkServer", "TidemarkSQLite", "TidemarkText",
      ],
      swiftSettings: tests),
    .testTarget(name: "TestSupportTests", dependencies: ["TestSupport", "TidemarkLog"], swiftSettings: tests),
    .testTarget(name: "TidemarkCrashTests", dependencies: ["TidemarkCrash"], swiftSettings: tests),
    .testTarget(name: "TidemarkToolTests", dependencies: ["TidemarkCrash", "TidemarkTool"], swiftSettings: tests),
    .testTarget(name: "TidemarkTextTests", dependencies: ["TestSupport", "TidemarkText"], exclude: ["Zones"], swiftSettings: tests),
  ]
)

// Instrumented builds take long: TIDEMARK_TESTS=TidemarkLogTests,TidemarkServerTests leaves the other tests out, and with them what only
// they need.
if let wanted = Context.environment["TIDEMARK_TESTS"]?.split(separator: ",").map(String.init) {
  package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}
