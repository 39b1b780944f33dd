import CommandLineSupport
import OfflineStore

enum ConfigGetCommand {
  static func run(_ context: CommandContext) throws {
    let name = try context.arguments.value("NAME", as: Vault.Preference.self)
    let vault = try context.openVault()
    if let name, !context.isJSON { return try context.output.line(try vault.preference(name)) }
    try ConfigFormat.show(name.map { [$0] } ?? Vault.Preference.allCases, vault, context)
  }
}

enum ConfigSetCommand {
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
    guard before != after, try vault.remote() != nil else { return }
    switch name {
    case .mode where after == "cloud", .projects: context.hint("It takes effect with the next 'fieldvault sync'.")
    case .mode, .unmeteredOnly: break
    }
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
        case .unmeteredOnly: json.member(name.rawValue, value == "true")
        case .mode, .projects: json.member(name.rawValue, value)
        }
      }
      json.endObject()
    }
  }
}
