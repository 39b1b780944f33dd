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
      plugins: [.plugin(name: "SchemaPlugin", package: "FieldVault")])
  ],
  swiftLanguageModes: [.v6]
)
