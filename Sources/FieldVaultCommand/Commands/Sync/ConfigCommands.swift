import CommandLineKit
import VaultStore

enum ConfigGetCommand: ProgramCommand {
  static let description = CommandDescription(
    "get", summary: "show one setting, or all",
    arguments: [.optional("NAME", "the setting", allowed: Vault.Preference.allCases.map(\.rawValue))],
    examples: [
      Example("fieldvault config get", "all settings"),
      Example("fieldvault config get mode --json", "one setting"),
    ],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let name = try context.arguments.value("NAME", as: Vault.Preference.self)
    let vault = try context.openVault()
    if let name, !context.isJSON { return try context.output.line(try vault.preference(name)) }
    try ConfigFormat.show(name.map { [$0] } ?? Vault.Preference.allCases, vault, context)
  }
}

enum ConfigSetCommand: ProgramCommand {
  static let description = CommandDescription(
    "set", summary: "change a setting",
    discussion: """
      mode: 'cloud' syncs; 'device' disables sync and keeps all data. unmetered-only: 'true' syncs only on an \
      unmetered network. projects: the projects that this device follows: 'all', 'active' or a list of uuids. \
      The other settings concern photos and files. storage-limit: the space that they may use here, such as 2GB; \
      beyond it, files that the server has are evicted, least recently used first. unmetered-files: 'true' transfers \
      files only on an unmetered network; records are not affected. upload: 'ciphertext' uploads encrypted files, \
      'plaintext' is for a server that processes images. download: 'thumbnails' downloads thumbnails and fetches \
      files on request, 'all' downloads everything. recompress: 'off', or the longest side in pixels to which new \
      images are scaled down. strip-location: 'true' removes the location from new images and stores other files \
      with a note; 'require' refuses a file whose location cannot be removed.
      """,
    arguments: [
      .required("NAME", "the setting", allowed: Vault.Preference.allCases.map(\.rawValue)),
      .oneOrMore("VALUE", "its value"),
    ],
    examples: [
      Example("fieldvault config set mode device", "disable sync"),
      Example("fieldvault config set projects active", "sync only active projects"),
      Example("fieldvault config set projects 0193...,0194...", "sync only these two projects"),
      Example("fieldvault config set storage-limit 500MB", "limit the space for photos and files"),
    ],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    guard let name = try context.arguments.value("NAME", as: Vault.Preference.self) else { return }
    let values = context.arguments.values("VALUE")
    guard values.count == 1 || name == .projects else {
      throw context.arguments.mistake("\(name.rawValue) takes one value", about: "VALUE")
    }
    let vault = try context.openVault()
    let before = try vault.preference(name)
    try vault.setPreference(name, values.joined(separator: ","))
    if context.isJSON { return try ConfigFormat.show([name], vault, context) }
    let after = try vault.preference(name)
    try context.tell(before == after ? "\(name.rawValue) is already \(after)." : "\(name.rawValue) is now \(after).")
    guard before != after else { return }
    let hasRemote = try vault.remote() != nil
    switch name {
    case .mode where after == "cloud", .projects, .download:
      if hasRemote { context.hint("The change takes effect with the next 'fieldvault sync'.") }
    case .storageLimit: try tellOfRoom(vault, context)
    case .recompress, .stripLocation: context.hint("The change applies to images attached from now on.")
    case .mode, .unmeteredOnly, .unmeteredFiles, .upload, .removeWhenRevoked: break
    }
  }

  private static func tellOfRoom(_ vault: Vault, _ context: CommandContext) throws {
    let count = try vault.evict()
    if count > 0 {
      try context.tell("Evicted \(countText(count)) files that the server has; they are downloaded again on request.")
    }
    let usage = try vault.attachmentUsage()
    guard usage.bytesUsed > usage.limit else { return }
    context.hint("\(byteText(Int(usage.bytesUsed))) are in use: files not on the server stay here.")
  }
}

private enum ConfigFormat {
  static func show(_ names: [Vault.Preference], _ vault: Vault, _ context: CommandContext) throws {
    let values = try names.map { ($0, try vault.preference($0)) }
    guard context.isJSON else {
      var table = TextTable(["setting", "value"])
      for (name, value) in values { table.add([name.rawValue, value]) }
      return try context.output.write(table.text(for: context.output.terminal))
    }
    try context.writeJSON { json in
      json.beginObject()
      for (name, value) in values {
        switch name {
        case .stripLocation where value == LocationStripping.required.rawValue: json.member(name.rawValue, value)
        case .unmeteredOnly, .unmeteredFiles, .stripLocation, .removeWhenRevoked:
          json.member(name.rawValue, value == "true")
        case .mode, .projects, .storageLimit, .upload, .download, .recompress: json.member(name.rawValue, value)
        }
      }
      json.endObject()
    }
  }
}
