import CommandLineKit
import VaultStore

enum ConfigGetCommand: ProgramCommand {
  static let description = CommandDescription(
    "get", summary: "one setting, or all",
    arguments: [.optional("NAME", "the setting", allowed: Vault.Preference.allCases.map(\.rawValue))],
    examples: [Example("fieldvault config get", "all"), Example("fieldvault config get mode --json", "one")],
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
      mode: 'device' sends and fetches nothing and keeps everything, 'cloud' syncs. unmetered-only: 'true' waits \
      for a network that does not count bytes. projects: 'all', 'active' for those that are, or the uuids of those \
      that this device follows. \
      For photos and files: storage-limit is how many bytes they may take here, as 2GB; beyond it those that the \
      server has make room, what was used longest ago first. unmetered-files: 'true' lets files wait for a network \
      that does not count bytes, and records not. upload: 'ciphertext' sends files encrypted as they are, \
      'plaintext' is for a server that works with images. download: 'thumbnails' fetches those alone and the rest \
      when asked for, 'all' fetches everything. recompress: 'off', or the longest side in pixels to which pictures \
      are made smaller when they are taken in. strip-location: 'true' stores pictures without the place where they \
      were taken, and other files with a note; 'require' refuses a file whose place cannot be removed.
      """,
    arguments: [
      .required("NAME", "the setting", allowed: Vault.Preference.allCases.map(\.rawValue)),
      .oneOrMore("VALUE", "its value"),
    ],
    examples: [
      Example("fieldvault config set mode device", "no network from now on"),
      Example("fieldvault config set projects active", "no completed ones, and no archived ones"),
      Example("fieldvault config set projects 0193...,0194...", "only these two"),
      Example("fieldvault config set storage-limit 500MB", "photos take no more than that here"),
    ],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    guard let name = try context.arguments.value("NAME", as: Vault.Preference.self) else { return }
    let values = context.arguments.values("VALUE")
    guard values.count == 1 || name == .projects else {
      throw context.arguments.mistake("\(name.rawValue) has one value", about: "VALUE")
    }
    let vault = try context.openVault()
    let before = try vault.preference(name)
    try vault.setPreference(name, values.joined(separator: ","))
    if context.isJSON { return try ConfigFormat.show([name], vault, context) }
    let after = try vault.preference(name)
    try context.tell(before == after ? "\(name.rawValue) is \(after) already." : "\(name.rawValue) is \(after) now.")
    guard before != after else { return }
    let hasRemote = try vault.remote() != nil
    switch name {
    case .mode where after == "cloud", .projects, .download:
      if hasRemote { context.hint("It takes effect with the next 'fieldvault sync'.") }
    case .storageLimit: try tellOfRoom(vault, context)
    case .recompress, .stripLocation: context.hint("It is for pictures that are taken in from now on.")
    case .mode, .unmeteredOnly, .unmeteredFiles, .upload: break
    }
  }

  private static func tellOfRoom(_ vault: Vault, _ context: CommandContext) throws {
    let count = try vault.evict()
    if count > 0 {
      try context.tell("Removed \(countText(count)) files that the server has; they come back when asked for.")
    }
    let usage = try vault.attachmentUsage()
    guard usage.bytesUsed > usage.limit else { return }
    context.hint("\(byteText(Int(usage.bytesUsed))) are in use: what the server does not have stays here.")
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
        case .unmeteredOnly, .unmeteredFiles, .stripLocation: json.member(name.rawValue, value == "true")
        case .mode, .projects, .storageLimit, .upload, .download, .recompress: json.member(name.rawValue, value)
        }
      }
      json.endObject()
    }
  }
}
