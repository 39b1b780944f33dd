// swift-tools-version: 6.0
import PackageDescription

let package = Package(
  name: "Shop",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "FieldVault", path: "../..")],
  targets: [
    .executableTarget(
      name: "shop",
      dependencies: [.product(name: "CipherSQL", package: "FieldVault")],
      exclude: ["Schemas.txt"],
      plugins: [.plugin(name: "SchemaPlugin", package: "FieldVault")]),
    // The first program of the README.
    .executableTarget(
      name: "damp",
      dependencies: [.product(name: "FieldVault", package: "FieldVault")],
      exclude: ["Schemas.txt"],
      plugins: [.plugin(name: "SchemaPlugin", package: "FieldVault")]),
    // The example of the article "REST remotes".
    .executableTarget(
      name: "visits",
      dependencies: [.product(name: "FieldVault", package: "FieldVault")],
      exclude: ["Schemas.txt"],
      plugins: [.plugin(name: "SchemaPlugin", package: "FieldVault")]),
    // The examples of the other articles.
    .executableTarget(
      name: "handbook",
      dependencies: [
        .product(name: "FieldVault", package: "FieldVault"), .product(name: "RestorationModel", package: "FieldVault"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
