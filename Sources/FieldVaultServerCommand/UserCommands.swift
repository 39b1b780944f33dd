import CipherSQL
import CommandLineKit
import ServerStorage

import SyncServer

enum UserAddCommand {
  static func run(_ context: CommandContext) throws {
    let name = try context.arguments.required("NAME")
    let expiry = try context.expiry()
    let record = try context.record("record", context.arguments.value("record"))
    let (account, token) = try context.withDirectory(isCreating: true) { directory in
      try directory.addUser(
        name, account: context.arguments.value("account"), role: context.role, expires: expiry,
        record: record)
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
        json.member("record", user.record)
        json.endObject()
      }
      json.endArray()
    }
  }

  private static func writeTable(_ users: [ListedUser], _ context: CommandContext) throws {
    if users.isEmpty { return context.note("no users") }
    var table = TextTable(["name", "account", "added", "revoked", "record"])
    for user in users {
      table.add([user.name, user.account, user.createdAt, user.revokedAt ?? "", user.record ?? ""])
    }
    try context.output.write(table.text(for: context.output.terminal))
  }
}

enum UserLinkCommand {
  static func run(_ context: CommandContext) throws {
    let name = try context.arguments.required("NAME")
    let record = try context.record("UUID", try context.arguments.required("UUID"))
    try context.withDirectory(isCreating: false) { try $0.linkUser(name, to: record) }
    try write(record, context)
  }

  static func unlink(_ context: CommandContext) throws {
    let name = try context.arguments.required("NAME")
    try context.withDirectory(isCreating: false) { try $0.linkUser(name, to: nil) }
    try write(nil, context)
  }

  private static func write(_ record: String?, _ context: CommandContext) throws {
    guard context.isJSON else {
      return context.note(record == nil ? "the user has no record now" : "the user is linked with the record")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("record", record)
      json.endObject()
    }
  }
}

extension CommandContext {
  /// Returns the UUID of a record in its canonical form; `nil` for no text.
  /// - Parameter name: the name of the argument or option.
  fileprivate func record(_ name: String, _ text: String?) throws -> String? {
    guard let text else { return nil }
    let uuid = text.lowercased()
    guard UUIDText.isCanonical(uuid) else {
      throw arguments.mistake("\(name) must be a UUID, such as 0190a5b2-7c3d-7e4f-8a1b-2c3d4e5f6071")
    }
    return uuid
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
