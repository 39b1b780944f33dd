import CommandLineKit
import FuzzSupport

/// A configuration file is refused with its path, or accepted; then its settings are written so that they read back equal.
@main
enum FuzzConfigurationFiles: FuzzTarget {
  private static let program = Program(
    name: "server", version: "1", summary: "serves",
    commands: [
      CommandDescription(
        "serve", summary: "serves",
        options: [
          .value("data", "DIR", "the folder", completion: .folder),
          .value("rate", "N", "requests per second", default: "200"),
          .value("mode", "MODE", "the mode", allowed: ["fast", "safe"]),
          .value("schema", "NAME", "tables", repetition: .list),
          .flag("pooled", "behind a pooler"),
        ])
    ])

  static func run(_ bytes: [UInt8]) {
    do throws(UsageError) {
      let file = try parse(bytes)
      let written = file.settings.map { ConfigurationFile.line($0.name, $0.value) }.joined(separator: "\n")
      let again = try parse(Array(written.utf8))
      require(
        again.settings.map(\.name) == file.settings.map(\.name)
          && again.settings.map { Array($0.value.utf8) } == file.settings.map { Array($0.value.utf8) },
        "\(file.settings) is written as \(written)")
    } catch {
      require(error.message.hasPrefix("/etc/server.conf:"), "a refusal names the file")
    }
  }

  private static func parse(_ bytes: [UInt8]) throws(UsageError) -> ConfigurationFile {
    try ConfigurationFile(bytes, path: "/etc/server.conf", of: program, command: ["serve"])
  }
}
