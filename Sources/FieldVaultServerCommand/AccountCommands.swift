import CommandLineKit
import ServerStorage

enum AccountListCommand {
  static func run(_ context: CommandContext) throws {
    let accounts = try context.withDirectory(isCreating: false) { try $0.listedAccounts() }
    guard context.isJSON else { return try writeTable(accounts, context) }
    try context.writeJSON { json in
      json.beginArray()
      for account in accounts {
        json.beginObject()
        json.member("name", account.account.name)
        json.member("folder", account.account.folder)
        json.member("users", account.users)
        json.member("createdAt", account.createdAt)
        json.member("membership", account.limitsToMembers)
        json.endObject()
      }
      json.endArray()
    }
  }

  private static func writeTable(_ accounts: [ListedAccount], _ context: CommandContext) throws {
    if accounts.isEmpty { return context.note("no accounts") }
    var table = TextTable(["name", "users", "added", "membership", "folder"])
    for account in accounts {
      table.add([
        account.account.name, String(account.users), account.createdAt, account.limitsToMembers ? "on" : "off",
        account.account.folder,
      ])
    }
    try context.output.write(table.text(for: context.output.terminal))
  }
}

enum AccountMembershipCommand {
  static func run(_ context: CommandContext, isLimited: Bool) throws {
    let account = try context.arguments.required("ACCOUNT")
    let users = try context.withDirectory(isCreating: false) { try $0.setMembership(isLimited, of: account) }
    guard context.isJSON else {
      guard isLimited else { return context.note("every user of the account sees all of its records") }
      context.note("devices of the account see only the projects of which their users are members")
      if !users.isEmpty {
        context.note(
          "users without a record, whom no membership can name: \(users.map(escaped).joined(separator: ", "))")
      }
      return
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("membership", isLimited)
      json.key("usersWithoutRecord")
      json.beginArray()
      for user in users { json.value(user) }
      json.endArray()
      json.endObject()
    }
  }
}
