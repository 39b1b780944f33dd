import CommandLineKit
import ServerStorage
import SyncServer

enum UserAddCommand {
  static func run(_ context: CommandContext) throws {
    let name = try context.arguments.required("NAME")
    let expiry = try context.expiry()
    let (account, token) = try context.withDirectory(isCreating: true) { directory in
      try directory.addUser(
        name, account: context.arguments.value("account"), role: context.role, expires: expiry)
    }
    guard context.isJSON else {
      try context.output.line(token)
      context.note("token of \(escaped(name)), shown only once; account: \(escaped(account))")
      return
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("name", name)
      json.member("account", account)
      json.member("token", token)
      json.endObject()
    }
  }
}

enum UserListCommand {
  static func run(_ context: CommandContext) throws {
    let users = try context.withDirectory(isCreating: false) { try $0.users() }
    guard context.isJSON else { return try writeTable(users, context) }
    try context.writeJSON { json in
      json.beginArray()
      for user in users {
        json.beginObject()
        json.member("name", user.name)
        json.member("account", user.account)
        json.member("createdAt", user.createdAt)
        json.member("revokedAt", user.revokedAt)
        json.endObject()
      }
      json.endArray()
    }
  }

  private static func writeTable(_ users: [ListedUser], _ context: CommandContext) throws {
    if users.isEmpty { return context.note("no users") }
    var table = TextTable(["name", "account", "added", "revoked"])
    for user in users { table.add([user.name, user.account, user.createdAt, user.revokedAt ?? ""]) }
    try context.output.write(table.text(for: context.output.terminal))
  }
}

enum UserRevokeCommand {
  static func run(_ context: CommandContext) throws {
    let name = try context.arguments.required("NAME")
    let count = try context.withDirectory(isCreating: false) { try $0.revokeUser(name) }
    guard context.isJSON else {
      return context.note(count == 0 ? "the user has no valid tokens" : "revoked the tokens of the user")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("revoked", count)
      json.endObject()
    }
  }
}

enum VersionCommand {
  static func run(_ context: CommandContext) throws {
    guard context.isJSON else { return try context.output.line("fieldvault-server \(ServerProgram.version)") }
    try context.writeJSON { json in
      json.beginObject()
      json.member("version", ServerProgram.version)
      json.endObject()
    }
  }
}
