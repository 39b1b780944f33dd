import CommandLineKit
import ServerStorage
import SyncModel
import SyncServer

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

enum TokenAddCommand {
  static func run(_ context: CommandContext) throws {
    let user = try context.arguments.required("USER")
    let expiry = try context.expiry()
    let (id, token) = try context.withDirectory(isCreating: false) { directory in
      try directory.addToken(
        to: user, role: context.role, label: context.arguments.value("label"), expires: expiry)
    }
    guard context.isJSON else {
      try context.output.line(token)
      context.note("token \(id) of \(escaped(user)), shown only once")
      return
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("id", Int(id))
      json.member("user", user)
      json.member("role", context.role.rawValue)
      json.member("token", token)
      json.endObject()
    }
  }
}

enum TokenListCommand {
  static func run(_ context: CommandContext) throws {
    let tokens = try context.withDirectory(isCreating: false) { directory in
      try directory.tokens(of: context.arguments.value("USER"))
    }
    guard context.isJSON else { return try writeTable(tokens, context) }
    try context.writeJSON { json in
      json.beginArray()
      for token in tokens {
        json.beginObject()
        json.member("id", Int(token.id))
        json.member("user", token.user)
        json.member("account", token.account)
        json.member("role", token.role.rawValue)
        json.member("label", token.label)
        json.member("createdAt", token.createdAt)
        json.member("expiresAt", token.expiresAt)
        json.member("revokedAt", token.revokedAt)
        json.member("lastUsedAt", token.lastUsedAt)
        json.endObject()
      }
      json.endArray()
    }
  }

  private static func writeTable(_ tokens: [ListedToken], _ context: CommandContext) throws {
    if tokens.isEmpty { return context.note("no tokens") }
    var table = TextTable(["id", "user", "role", "label", "added", "used", "expires", "revoked"])
    for token in tokens {
      table.add([
        String(token.id), token.user, token.role.rawValue, token.label ?? "", token.createdAt, token.lastUsedAt ?? "",
        token.expiresAt ?? "", token.revokedAt ?? "",
      ])
    }
    try context.output.write(table.text(for: context.output.terminal))
  }
}

enum TokenRevokeCommand {
  static func run(_ context: CommandContext) throws {
    guard let id = Int64(try context.arguments.required("ID")) else {
      throw context.arguments.mistake("ID must be the number of a token from 'token list'")
    }
    let isNew = try context.withDirectory(isCreating: false) { try $0.revokeToken(id) }
    guard context.isJSON else {
      return context.note(isNew ? "revoked the token" : "the token was already revoked")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("revoked", isNew ? 1 : 0)
      json.endObject()
    }
  }
}

extension CommandContext {
  /// `--role`.
  var role: TokenRole { arguments.value("role").flatMap(TokenRole.init) ?? .device }

  /// `--expires`: a time in UTC, or a date, which means its beginning.
  func expiry() throws -> Date? {
    try time(of: "expires").map { Date(timeIntervalSince1970: Double($0) / 1000) }
  }

  /// The time of an option, in milliseconds since 1970-01-01 UTC. A date means its beginning.
  func time(of option: String) throws -> Int64? {
    guard let text = arguments.value(option) else { return nil }
    let time = text.utf8.count == 10 ? "\(text)T00:00:00.000Z" : text
    guard let milliseconds = WireTime.milliseconds(time) else {
      throw arguments.mistake(
        "--\(option) takes a date such as 2027-01-31, or a time in UTC such as 2027-01-31T06:00:00.000Z",
        about: option)
    }
    return milliseconds
  }
}
