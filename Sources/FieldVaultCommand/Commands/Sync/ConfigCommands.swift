import Platform
import CommandLineKit
import VaultStore

enum ConfigListCommand: ProgramCommand {
  static let description = CommandDescription(
    "list", aliases: ["ls"], summary: "list all settings with their values, allowed values and meanings",
    examples: [
      Example("fieldvault config list", "all settings"),
      Example("fieldvault config list --json", "as a JSON array"),
    ],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let settings = try Vault.Preference.allCases.map { (name: $0, value: try vault.preference($0)) }
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginArray()
        for (name, value) in settings {
          json.beginObject()
          json.member("setting", name.rawValue)
          ConfigFormat.member("value", name, value, &json)
          json.member("allowed", name.allowed)
          json.member("meaning", name.meaning)
          json.endObject()
        }
        json.endArray()
      }
    }
    let rows = settings.map { ($0.name.rawValue, "\($0.value)\n\($0.name.meaning).\nAllowed: \($0.name.allowed).") }
    try context.output.write(twoColumns(rows, for: context.output.terminal))
  }
}

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
    discussion: Vault.Preference.allCases.map { "\($0.rawValue): \($0.meaning)." }.joined(separator: "\n"),
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
    let value = values.joined(separator: ",")
    do {
      try vault.setPreference(name, name == .projects ? try vault.projectsValue(value) : value)
    } catch let error as VaultError {
      guard error.code == .badValue, let near = nearest(to: value, in: error.candidates) else { throw error }
      throw VaultError(error.code, error.message, hint: "did you mean '\(near)'?", name: error.name)
    }
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
      for (name, value) in values { member(name.rawValue, name, value, &json) }
      json.endObject()
    }
  }

  /// Writes the value of a setting, as a flag if it is on or off.
  static func member(_ key: String, _ name: Vault.Preference, _ value: String, _ json: inout JSONWriter) {
    let isFlag = name.allowedValues.contains("true") && ["true", "false"].contains(value)
    if isFlag { json.member(key, value == "true") } else { json.member(key, value) }
  }
}

extension Vault.Preference {
  /// The values that the setting accepts, for users.
  fileprivate var allowed: String {
    switch self {
    case .storageLimit: "a number of bytes, such as 500MB, 2GB or 4GiB"
    case .recompress: "off, or a number of pixels from 16 to 100000"
    case .projects: "all, active, or uuids of projects separated by commas"
    default: allowedValues.joined(separator: ", ")
    }
  }

  /// The effect of the setting, in sentences without the last full stop.
  fileprivate var meaning: String {
    switch self {
    case .mode: "'cloud' syncs; 'device' disables sync and keeps all data"
    case .unmeteredOnly: "'true' syncs only on an unmetered network"
    case .storageLimit:
      "The space that photos and files may use here. Beyond it, files that the server has are evicted, least recently "
        + "used first"
    case .unmeteredFiles: "'true' transfers files only on an unmetered network. Records are not affected"
    case .upload: "'ciphertext' uploads encrypted files; 'plaintext' is for a server that processes images"
    case .download: "'thumbnails' downloads thumbnails and fetches files on request; 'all' downloads everything"
    case .recompress: "The longest side in pixels to which new images are scaled down"
    case .stripLocation:
      "'true' removes the location from new images and stores other files with a note; 'require' refuses a file whose "
        + "location cannot be removed"
    case .removeWhenRevoked:
      "'true' removes the records and files that the server has when its operator revokes this device"
    case .projects: "The projects that this device follows. 'active' follows the projects that are not completed"
    }
  }
}
