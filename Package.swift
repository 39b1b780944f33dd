// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "FieldVault",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(
      name: "FieldVault",
      targets: [
        "FieldVault", "SyncEngine", "RESTRemote", "FileTransfers", "HTTPClient", "SyncModel", "VaultStore",
        "Attachments", "Outbox", "RecordStore", "SchemaModel", "CipherSQL", "VaultKeys", "Platform",
      ]),
    .library(name: "CipherSQL", targets: ["CipherSQL"]),
    .library(name: "RestorationModel", targets: ["RestorationModel"]),
    .library(name: "RangeModel", targets: ["RangeModel"]),
    .library(name: "ReceiptsModel", targets: ["ReceiptsModel"]),
    .plugin(name: "SchemaPlugin", targets: ["SchemaPlugin"]),
    // The extension that `fieldvault shell` loads into the sqlcipher shell.
    .library(name: "FieldVaultShellGuard", type: .dynamic, targets: ["ShellGuard"]),
    .executable(name: "fieldvault", targets: ["FieldVaultCommand"]),
    .executable(name: "fieldvault-server", targets: ["FieldVaultServerCommand"]),
  ],
  traits: [
    .trait(
      name: "Pictures",
      description: "Reads photos with gdk-pixbuf and libexif. Without it photos are stored without thumbnails."),
    .default(enabledTraits: ["Pictures"]),
  ],
  targets: [
    // System libraries.
    .systemLibrary(
      name: "CSQLCipher", pkgConfig: "sqlcipher",
      providers: [.apt(["libsqlcipher-dev"]), .brew(["sqlcipher"])]),
    .systemLibrary(
      name: "CSodium", pkgConfig: "libsodium",
      providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
    .systemLibrary(
      name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .systemLibrary(name: "CPlatform"),
    .systemLibrary(
      name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .systemLibrary(name: "CPixbuf", providers: [.apt(["libgdk-pixbuf-2.0-dev"])]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .systemLibrary(name: "CExif", pkgConfig: "libexif", providers: [.apt(["libexif-dev"])]),

    // The modules, from the lowest up. Imports run downward only.
    .target(name: "Platform", dependencies: ["CPlatform", "CSodium"]),
    .target(
      name: "CryptoLifetime", dependencies: [.target(name: "CCrypto", condition: .when(platforms: [.linux]))]),
    .target(name: "CStatementPolicy", dependencies: ["CSQLCipher"]),
    .target(name: "ShellGuard", dependencies: ["CStatementPolicy", "CSQLCipher"]),
    .target(
      name: "CipherSQL",
      dependencies: ["Platform", "CSQLCipher", "CSodium", "CPlatform", "CStatementPolicy", "CryptoLifetime"],
      exclude: ["README.md"]),
    .target(name: "SchemaCompiler", dependencies: ["CipherSQL"]),
    .executableTarget(name: "fieldvault-schema", dependencies: ["SchemaCompiler"]),
    .plugin(
      name: "SchemaPlugin", capability: .buildTool(), dependencies: ["fieldvault-schema"], path: "Sources/SchemaPlugin"),
    .target(name: "VaultKeys", dependencies: ["Platform", "CSodium", "CPlatform"], exclude: ["KeyringFormat.md"]),
    .target(
      name: "SealedFiles",
      dependencies: [
        "Platform", "CipherSQL", "VaultKeys", "CSodium",
        .target(name: "CCrypto", condition: .when(platforms: [.linux])),
      ],
      exclude: ["SealedFileFormat.md"]),
    .target(
      name: "Pictures",
      dependencies: [
        .target(name: "CPixbuf", condition: .when(platforms: [.linux], traits: ["Pictures"])),
        .target(name: "CExif", condition: .when(platforms: [.linux], traits: ["Pictures"])),
      ]),
    .target(name: "SyncModel", dependencies: ["CSodium"], exclude: ["WireFormat.md", "FileEndpoints.md"]),
    .target(
      name: "HTTPClient",
      dependencies: ["CipherSQL", "SyncModel", .target(name: "CCurl", condition: .when(platforms: [.linux]))]),
    .target(
      name: "SchemaModel", dependencies: ["Platform", "CipherSQL", "SyncModel"], exclude: ["Schemas.txt"],
      plugins: ["SchemaPlugin"]),
    .target(
      name: "RecordStore", dependencies: ["Platform", "CipherSQL", "SyncModel", "SchemaModel", "CStatementPolicy"],
      exclude: ["README.md"]),
    .target(
      name: "Outbox", dependencies: ["Platform", "CipherSQL", "SyncModel", "SchemaModel", "RecordStore"],
      exclude: ["README.md"]),
    .target(
      name: "Attachments",
      dependencies: [
        "Platform", "CipherSQL", "VaultKeys", "SealedFiles", "Pictures", "SyncModel", "SchemaModel", "RecordStore",
        "Outbox", "CPlatform",
      ], exclude: ["README.md"]),
    .target(
      name: "VaultStore",
      dependencies: [
        "Outbox", "Attachments", "Platform", "CipherSQL", "VaultKeys", "SealedFiles", "Pictures", "SyncModel",
        "SchemaModel", "RecordStore",
        "CPlatform",
      ],
      exclude: ["README.md", "BackupFormat.md"]),
    .target(
      name: "RestorationModel", dependencies: ["CipherSQL", "VaultStore"], exclude: ["Schemas.txt"],
      plugins: ["SchemaPlugin"]),
    .target(
      name: "RangeModel", dependencies: ["CipherSQL", "VaultStore"], exclude: ["Schemas.txt"],
      plugins: ["SchemaPlugin"]),
    .target(
      name: "ReceiptsModel", dependencies: ["CipherSQL", "VaultStore"], exclude: ["Schemas.txt"],
      plugins: ["SchemaPlugin"]),
    .target(
      name: "FileTransfers",
      dependencies: [
        "Platform", "VaultStore", "HTTPClient", "SyncModel", "CipherSQL", "SealedFiles", "Pictures", "VaultKeys",
      ],
      exclude: ["README.md"]),
    .target(
      name: "ShippedSchemas", dependencies: ["CipherSQL"], exclude: ["Schemas.txt"], plugins: ["SchemaPlugin"]),
    .target(
      name: "SyncEngine",
      dependencies: ["Platform", "FileTransfers", "VaultStore", "HTTPClient", "SyncModel", "CipherSQL", "CPlatform"],
      exclude: ["README.md"]),
    .target(
      name: "RESTRemote",
      dependencies: [
        "Platform", "SyncEngine", "FileTransfers", "VaultStore", "HTTPClient", "SyncModel", "CipherSQL",
        "SealedFiles",
        "VaultKeys",
      ],
      exclude: ["README.md"]),
    // What an app imports.
    .target(
      name: "FieldVault",
      dependencies: [
        "CipherSQL", "VaultStore", "SyncEngine", "RESTRemote", "FileTransfers", "SyncModel", "VaultKeys",
        "HTTPClient",
      ]),
    .target(
      name: "HTTPServer", dependencies: ["SyncModel", "Platform", "CMicroHTTPD", "CPlatform"], exclude: ["README.md"]),
    .target(
      name: "ServerStorage",
      dependencies: ["RecordStore", "SchemaModel", "SyncModel", "CipherSQL", "Platform", "CSodium", "CCrypto"],
      exclude: ["README.md"]),
    .target(
      name: "SQLCipherStorage",
      dependencies: [
        "ServerStorage", "RecordStore", "SchemaModel", "SyncModel", "CipherSQL", "VaultKeys", "Platform", "CSodium",
        "CPlatform",
      ],
      exclude: ["README.md"]),
    .target(
      name: "FileServer",
      dependencies: [
        "HTTPServer", "ServerStorage", "SQLCipherStorage", "SchemaModel", "HTTPClient", "SyncModel", "CipherSQL",
        "SealedFiles", "VaultKeys", "Platform", "CSodium", "CPlatform",
      ], exclude: ["README.md"]),
    .target(
      name: "PostgresStorage",
      dependencies: [
        "FileServer", "ServerStorage", "SchemaModel", "SyncModel", "CipherSQL", "VaultKeys", "Platform", "CPostgres",
        "CSodium",
      ],
      exclude: ["README.md"]),
    .target(
      name: "SyncServer",
      dependencies: [
        "HTTPServer", "FileServer", "PostgresStorage", "SQLCipherStorage", "ServerStorage", "SchemaModel",
        "RecordStore",
        "SyncModel", "CipherSQL", "Platform", "CPlatform", "CSodium", "HTTPClient", "VaultKeys", "ServerPages",
      ], exclude: ["README.md", "BackupFormat.md", "alerts.yml"]),
    .target(
      name: "ServerPages", dependencies: ["WebPages", "HTTPServer", "ServerStorage", "Platform"], exclude: ["README.md"]
    ),
    .target(name: "WebPages", dependencies: ["HTTPServer", "Platform"], exclude: ["README.md"]),
    .target(
      name: "Inspector",
      dependencies: [
        "WebPages", "HTTPServer", "VaultStore", "Attachments", "RecordStore", "SchemaModel", "SyncModel", "CipherSQL",
        "Platform",
      ], exclude: ["README.md"]),
    .target(name: "CommandLineKit", dependencies: ["Platform", "CPlatform"]),
    .executableTarget(
      name: "FieldVaultCommand",
      dependencies: [
        "Platform", "CipherSQL", "VaultKeys", "VaultStore", "SyncEngine", "RESTRemote", "FileTransfers", "HTTPClient",
        "SyncModel", "RestorationModel",
        "RangeModel", "ReceiptsModel", "CommandLineKit", "CPlatform", "Inspector", "HTTPServer", "SchemaModel",
      ]),

    .executableTarget(
      name: "FieldVaultServerCommand",
      dependencies: [
        "Platform", "CipherSQL", "VaultKeys", "SchemaModel", "SyncServer", "SyncModel", "CommandLineKit", "CPlatform",
        "HTTPServer", "FileServer", "PostgresStorage", "SQLCipherStorage", "ServerStorage", "ShippedSchemas",
      ]),

    // What tests, benchmarks and the simulation share.
    .target(name: "TestSupport", dependencies: ["Platform", "VaultKeys", "CPlatform"], path: "Tests/TestSupport"),

    // Benchmarks against the C floor.
    .target(name: "BenchmarkFloor", dependencies: ["CSQLCipher", "CSodium"], path: "Tests/BenchmarkFloor"),
    .executableTarget(
      name: "fieldvault-bench",
      dependencies: [
        "TestSupport", "CipherSQL", "VaultStore", "VaultKeys", "RestorationModel", "SyncModel", "SyncEngine",
        "FileTransfers",
        "HTTPClient",
        "SyncServer", "SQLCipherStorage", "ServerStorage", "FileServer", "SealedFiles", "BenchmarkFloor", "CSodium",
        "PostgresStorage", "ServerSupport", "HTTPServer", "CommandLineKit", "Platform",
      ],
      path: "Tests/Benchmarks", exclude: ["RESULTS.md", "Schemas.txt", "benchmark", "push.sql"],
      plugins: ["SchemaPlugin"]),

    // The demo's questions through the typed layer.
    .executableTarget(
      name: "fieldvault-demo",
      dependencies: [
        "CipherSQL", "VaultStore", "RestorationModel", "SyncEngine", "HTTPClient", "SyncModel", "VaultKeys",
      ],
      path: "Tests/Demo"),

    // Tests.
    .target(
      name: "StoreSupport", dependencies: ["RestorationModel", "VaultStore", "CipherSQL"], path: "Tests/StoreSupport"),
    .target(
      name: "ServerSupport",
      dependencies: [
        "TestSupport", "SyncServer", "FileServer", "PostgresStorage", "SQLCipherStorage", "ServerStorage", "SyncModel",
        "CipherSQL", "Platform", "CCrypto", "HTTPServer",
      ],
      path: "Tests/ServerSupport"),
    .testTarget(name: "PlatformTests", dependencies: ["TestSupport", "Platform"]),
    .testTarget(name: "CipherSQLTests", dependencies: ["TestSupport", "CipherSQL", "Platform"]),
    .testTarget(name: "SchemaCompilerTests", dependencies: ["TestSupport", "SchemaCompiler", "CipherSQL"]),
    .testTarget(name: "VaultKeysTests", dependencies: ["TestSupport", "VaultKeys", "Platform"]),
    .testTarget(name: "SealedFilesTests", dependencies: ["TestSupport", "Platform", "SealedFiles", "VaultKeys"]),
    .testTarget(name: "PicturesTests", dependencies: ["TestSupport", "Pictures"]),
    .testTarget(
      name: "RecordStoreTests",
      dependencies: [
        "TestSupport", "StoreSupport", "VaultStore", "RecordStore", "SchemaModel", "CipherSQL", "SyncModel",
        "RestorationModel",
      ]),
    .testTarget(
      name: "OutboxTests",
      dependencies: [
        "TestSupport", "StoreSupport", "VaultStore", "RecordStore", "SchemaModel", "CipherSQL", "SyncModel",
        "RestorationModel", "Outbox", "CSQLCipher",
      ]),
    .testTarget(
      name: "AttachmentsTests",
      dependencies: [
        "TestSupport", "StoreSupport", "VaultStore", "RecordStore", "SchemaModel", "CipherSQL", "SyncModel",
        "RestorationModel", "Outbox", "Attachments", "SealedFiles", "VaultKeys", "Platform",
      ]),
    .testTarget(
      name: "VaultStoreTests",
      dependencies: [
        "StoreSupport", "TestSupport", "SchemaModel", "RecordStore", "Platform", "VaultStore", "CipherSQL", "SyncModel",
        "VaultKeys",
        "RestorationModel", "DrawnSchema",
      ]),
    .testTarget(name: "RestorationModelTests", dependencies: ["RestorationModel", "CipherSQL", "VaultStore"]),
    .testTarget(
      name: "RangeModelTests",
      dependencies: [
        "TestSupport", "RangeModel", "RestorationModel", "CipherSQL", "VaultStore", "SyncModel", "VaultKeys",
      ]),
    .testTarget(name: "ReceiptsModelTests", dependencies: ["TestSupport", "ReceiptsModel", "CipherSQL", "VaultStore"]),
    .testTarget(name: "SyncModelTests", dependencies: ["TestSupport", "SyncModel"]),
    .target(
      name: "RawNetwork", dependencies: ["TestSupport", "HTTPClient", "SyncModel", "CipherSQL"],
      path: "Tests/RawNetwork"),
    .testTarget(
      name: "HTTPClientTests", dependencies: ["TestSupport", "HTTPClient", "RawNetwork", "SyncModel", "CipherSQL"]),
    .testTarget(
      name: "FileTransfersTests",
      dependencies: [
        "TestSupport", "Platform", "FileTransfers", "HTTPClient", "RawNetwork", "SyncModel", "CipherSQL", "SealedFiles",
      ]),
    .testTarget(
      name: "SyncEngineTests",
      dependencies: [
        "TestSupport", "Platform", "SyncEngine", "VaultStore", "Outbox", "HTTPClient", "RawNetwork", "SyncModel",
        "CipherSQL", "RecordStore",
      ]),
    .testTarget(name: "HTTPServerTests", dependencies: ["TestSupport", "HTTPServer", "SyncModel", "Platform"]),
    .testTarget(
      name: "SQLCipherStorageTests",
      dependencies: [
        "TestSupport", "ServerSupport", "SQLCipherStorage", "ServerStorage", "SyncModel", "CipherSQL",
        "RestorationModel",
      ]),
    .testTarget(
      name: "PostgresStorageTests",
      dependencies: [
        "TestSupport", "ServerSupport", "PostgresStorage", "FileServer", "SQLCipherStorage", "ServerStorage",
        "SchemaModel", "SyncModel", "CipherSQL", "Platform", "RestorationModel", "SyncServer", "HTTPServer",
      ]),
    .testTarget(
      name: "FileServerTests",
      dependencies: [
        "TestSupport", "ServerSupport", "SyncServer", "FileServer", "SQLCipherStorage", "ServerStorage", "SyncModel",
        "CipherSQL",
      ]),
    .testTarget(
      name: "SyncServerTests",
      dependencies: [
        "ServerSupport", "TestSupport", "SchemaModel", "RecordStore", "Platform", "FieldVaultServerCommand",
        "SyncServer", "HTTPClient",
        "RawNetwork",
        "SyncModel", "VaultStore", "CipherSQL", "SealedFiles", "RestorationModel", "CommandLineKit", "CPlatform",
        "HTTPServer", "FileServer", "SQLCipherStorage", "PostgresStorage", "ServerStorage", "ShippedSchemas",
        "ServerPages",
      ], exclude: ["Data/alert-tests.yml"]),
    .testTarget(
      name: "SyncTests",
      dependencies: [
        "TestSupport", "SchemaModel", "RecordStore", "Platform", "SyncEngine", "FileTransfers", "HTTPClient",
        "RawNetwork", "ServerSupport", "SyncServer", "SyncModel", "VaultStore", "HTTPServer", "FileServer",
        "PostgresStorage", "SQLCipherStorage", "ServerStorage", "CipherSQL",
        "VaultKeys", "RestorationModel", "ReceiptsModel", "DrawnSchema",
      ]),
    .target(
      name: "DrawnSchema", dependencies: ["SchemaModel", "RecordStore", "VaultStore", "CipherSQL"],
      path: "Tests/DrawnSchema"),
    // Schemas for the simulation, each drawn from a number.
    .target(
      name: "GeneratedSchemas", dependencies: ["TestSupport", "CipherSQL"], path: "Tests/GeneratedSchemas"),
    .testTarget(
      name: "GeneratedSchemaTests",
      dependencies: ["GeneratedSchemas", "TestSupport", "CipherSQL", "RecordStore", "VaultStore"]),
    .testTarget(
      name: "RestTests",
      dependencies: [
        "TestSupport", "SyncEngine", "RESTRemote", "FileTransfers", "HTTPClient", "RawNetwork", "SyncModel",
        "VaultStore",
        "CipherSQL", "VaultKeys", "RangeModel",
      ]),
    .testTarget(name: "WebPagesTests", dependencies: ["TestSupport", "WebPages", "Platform"]),
    .testTarget(name: "ServerPagesTests", dependencies: ["ServerPages", "HTTPServer"]),
    .testTarget(
      name: "InspectorTests",
      dependencies: [
        "TestSupport", "Inspector", "VaultStore", "VaultKeys", "RestorationModel", "SyncModel", "CipherSQL", "Platform",
        "RecordStore", "WebPages",
      ]),
    .testTarget(name: "CommandLineKitTests", dependencies: ["TestSupport", "CommandLineKit", "Platform"]),
    .testTarget(
      name: "FieldVaultTests",
      dependencies: [
        "TestSupport", "ServerSupport", "FieldVaultCommand", "FieldVaultServerCommand", "CommandLineKit", "CPlatform",
        "RawNetwork", "SchemaCompiler",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

#if os(Linux)
  // Crashes: the layer that loses and fails writes, and the program that puts it under others.
  package.products.append(.library(name: "FaultLayer", type: .dynamic, targets: ["FaultLayer"]))
  // The CPU time of write transactions, for benchmarks.
  package.products.append(.library(name: "WriteTimes", type: .dynamic, targets: ["WriteTimes"]))
  package.targets += [
    .target(name: "FaultLayer", path: "Tests/FaultLayer"),
    .target(name: "WriteTimes", path: "Tests/WriteTimes"),
    // Disks in memory that can crash, below the functions of the C library.
    .target(name: "SimulatedDisk", path: "Tests/SimulatedDisk"),
    .testTarget(
      name: "SimulatedDiskTests",
      dependencies: [
        "SimulatedDisk", "TestSupport", "RestorationModel", "VaultStore", "VaultKeys", "CipherSQL", "CSQLCipher",
        "Platform", "ServerSupport", "SyncServer", "SQLCipherStorage", "ServerStorage",
      ]),
    .executableTarget(
      name: "fieldvault-torture",
      dependencies: ["TestSupport", "CipherSQL", "VaultStore", "VaultKeys", "RestorationModel", "Platform"],
      path: "Tests/Torture", exclude: ["RESULTS.md"]),

    // Devices, a server and a bad network.
    .executableTarget(
      name: "fieldvault-simulation",
      dependencies: [
        "TestSupport", "CipherSQL", "VaultStore", "SyncEngine", "HTTPClient", "SyncModel", "SyncServer", "VaultKeys",
        "SQLCipherStorage", "ServerStorage", "FileServer", "HTTPServer", "SimulatedDisk", "RESTRemote",
        "RestorationModel", "CPlatform", "GeneratedSchemas", "CSQLCipher", "PostgresStorage", "ServerSupport",
        "Platform",
      ],
      path: "Tests/Simulation", exclude: ["README.md", "RESULTS.md", "Planted", "PlantedDefects.md", "Schemas"]),
  ]
#endif

// `scripts/test` sets this variable, so that a sanitizer builds only the tests that it runs and what they need.
if let names = Context.environment["FIELDVAULT_TEST_TARGETS"]?.split(separator: ",").map(String.init) {
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}

// `scripts/fuzz` sets this variable. The package is then the fuzz targets, one folder of `Tests/Fuzz` each, and the modules that
// they test, instrumented. The option `--sanitize=fuzzer` of SwiftPM cannot do this: it also gives the tool of SchemaPlugin the
// `main` of libFuzzer.
if Context.environment["FIELDVAULT_FUZZ"] != nil {
  let fuzzTargets: [(folder: String, dependencies: [Target.Dependency])] = [
    ("BackupFiles", ["VaultStore", "VaultKeys", "Platform"]),
    ("ConfigurationFiles", ["CommandLineKit"]),
    ("CSVImport", ["VaultStore", "FuzzStore"]),
    ("IdentityTokens", ["ServerStorage", "SyncModel"]),
    ("JSONImport", ["VaultStore", "FuzzStore"]),
    ("JSONValues", ["SyncModel"]),
    ("Keyrings", ["VaultKeys"]),
    ("NDJSONImport", ["VaultStore", "FuzzStore"]),
    ("Pictures", ["Pictures"]),
    ("RequestHeads", ["HTTPServer", "FileServer", "SQLCipherStorage", "ServerStorage", "SyncServer"]),
    (
      "Requests",
      [
        "HTTPServer", "FileServer", "SQLCipherStorage", "ServerStorage", "SyncServer", "SyncModel", "CipherSQL",
        "Platform",
        "FuzzStore",
      ]
    ),
    ("Responses", ["SyncModel"]),
    ("RESTResponses", ["RESTRemote", "SyncModel", "HTTPClient"]),
    ("RouteFiles", ["RESTRemote", "SyncModel"]),
    ("SchemaFolders", ["SchemaCompiler", "VaultStore", "CipherSQL"]),
    ("SealedFiles", ["SealedFiles", "VaultKeys"]),
    ("WhereConditions", ["VaultStore", "CipherSQL", "FuzzStore"]),
  ]
  let tool = "fieldvault-schema"
  func names(_ dependencies: [Target.Dependency]) -> [String] {
    dependencies.compactMap { dependency in
      switch dependency {
      case .targetItem(let name, _), .byNameItem(let name, _): name
      default: nil
      }
    }
  }
  package.products = []
  package.targets += [
    .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
    .target(name: "FuzzSupport", dependencies: ["CFuzzer"], path: "Tests/Fuzz/FuzzSupport"),
    .target(name: "FuzzStore", dependencies: ["VaultStore", "CipherSQL"], path: "Tests/Fuzz/FuzzStore"),
  ]
  // The modules that the targets and the tool of the plugin need.
  var modules: Set = ["FuzzSupport"]
  var needed = [tool] + fuzzTargets.flatMap { names($0.dependencies) }
  while let name = needed.popLast() {
    guard modules.insert(name).inserted else { continue }
    needed += package.targets.filter { $0.name == name }.flatMap { names($0.dependencies) }
  }
  package.targets.removeAll { ![.system, .plugin].contains($0.type) && !modules.contains($0.name) }
  package.targets += fuzzTargets.map { target in
    // SwiftPM makes the program's own entry point `main`, so that of libFuzzer is not used.
    .executableTarget(
      name: "Fuzz\(target.folder)", dependencies: ["FuzzSupport"] + target.dependencies,
      path: "Tests/Fuzz/\(target.folder)", exclude: ["corpus"],
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])])
  }
  for target in package.targets where ![.system, .plugin].contains(target.type) && target.name != tool {
    target.swiftSettings = [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]
  }
  // The tool contains instrumented modules too. Nothing calls the entry point of a target, which libFuzzer refers to.
  for target in package.targets where target.name == tool {
    target.linkerSettings = [.unsafeFlags(["-sanitize=fuzzer", "-Xlinker", "--defsym=LLVMFuzzerTestOneInput=0"])]
  }
}
