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
        json.endObject()
      }
      json.endArray()
    }
  }

  private static func writeTable(_ accounts: [ListedAccount], _ context: CommandContext) throws {
    if accounts.isEmpty { return context.note("no accounts") }
    var table = TextTable(["name", "users", "added", "folder"])
    for account in accounts {
      table.add([account.account.name, String(account.users), account.createdAt, account.account.folder])
    }
    try context.output.write(table.text(for: context.output.terminal))
  }
}
