// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "tidemark-benchmarks",
  products: [
    .executable(name: "tidemark-benchmark", targets: ["TidemarkBenchmark"])
  ],
  dependencies: [
    .package(name: "tidemark", path: "..")
  ],
  targets: [
    .target(
      name: "CBaseline",
      linkerSettings: ["crypto", "lz4", "sqlite3", "xxhash", "yajl", "pthread"].map { .linkedLibrary($0) }),
    .target(name: "BenchmarkSupport", swiftSettings: settings),
    .executableTarget(name: "EmptyProcess", dependencies: ["CBaseline"], swiftSettings: settings),
    .executableTarget(
      name: "TidemarkBenchmark",
      dependencies: [
        "BenchmarkSupport", "CBaseline", .product(name: "TidemarkLog", package: "tidemark"),
        .product(name: "TidemarkEvidence", package: "tidemark"), .product(name: "TidemarkReplication", package: "tidemark"),
        // Programs that are started.
        .product(name: "tidemark", package: "tidemark"), .product(name: "tidemark-load", package: "tidemark"),
        .product(name: "TidemarkProjections", package: "tidemark"), .product(name: "TidemarkSQLite", package: "tidemark"),
      ],
      swiftSettings: settings),
    .testTarget(name: "BenchmarkSupportTests", dependencies: ["BenchmarkSupport"], swiftSettings: settings),
  ]
)
