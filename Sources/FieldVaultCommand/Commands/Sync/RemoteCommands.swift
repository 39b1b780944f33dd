import CommandLineKit
import VaultStore
import RESTRemote
import VaultKeys
import HTTPClient

enum RemoteSetCommand {
  static func run(_ context: CommandContext) throws {
    let url = try address(context).description
    let vault = try context.openVault()
    let before = try vault.remote()
    let isKept = before?.url == url && before?.hasToken == true
    let routes = try routes(context, for: vault)
    let token = try token(context, isKept: isKept)
    if !context.arguments.flag("no-check"), try vault.preference(.mode) != "device" {
      try Server.check(
        url, token: token ?? (isKept ? vault.remoteToken() : nil), routes: routes?.routes.text, of: vault)
    }
    try vault.setRemote(url: url, token: token, routes: routes?.routes)
    for warning in routes?.warnings ?? [] { context.note(warning) }
    if context.isJSON { return try RemoteFormat.write(try vault.remote(), context) }
    try context.tell("The server is \(url)\(routes.map { ", spoken to as \($0.file) says" } ?? "").")
    if token == nil, !isKept {
      context.hint("There is no token for it yet: fieldvault remote set \(url) --token-file FILE")
    } else {
      context.hint("To send and fetch: fieldvault sync")
    }
  }

  private static func address(_ context: CommandContext) throws -> ServerAddress {
    let text = try context.arguments.required("URL")
    do throws(TransportFailure) {
      return try ServerAddress(text, allowsInsecure: context.arguments.flag("allow-insecure"))
    } catch {
      guard case .insecure = error else {
        throw context.arguments.mistake(error.message, about: "URL", hint: error.hint)
      }
      throw VaultError(
        .refused, error.message, hint: "\(error.hint), or --allow-insecure where something else encrypts")
    }
  }

  /// The routes of `--routes`, held against the tables of the vault.
  private static func routes(
    _ context: CommandContext, for vault: Vault
  ) throws -> (file: String, routes: RemoteRoutes, warnings: [String])? {
    guard let path = context.arguments.value("routes") else { return nil }
    let text = try ByteSource(path: path).readText(limit: RouteFile.longestText)
    do throws(RouteFileError) {
      return (path, try RouteFile.routes(json: text, for: vault), try RouteFile(json: text).warnings)
    } catch {
      throw RouteFileRefused(path: path, problems: error.problems)
    }
  }

  /// Returns the token of `--token-file` or of a prompt, or `nil`.
  private static func token(_ context: CommandContext, isKept: Bool) throws -> String? {
    let source: SecretSource
    if let file = context.arguments.value("token-file") {
      source = SecretSource(option: file)
    } else if context.canAsk, !isKept {
      source = .terminal(prompt: "Token: ")
    } else {
      return nil
    }
    let bytes: SecureBytes
    do throws(KeyError) {
      bytes = try source.readPassphrase()
    } catch {
      switch error.code {
      case .emptySecret:
        throw VaultError(.badValue, "the token is empty", hint: "give the token that 'user add' printed")
      case .cancelled: throw error
      default:
        throw VaultError(.unreadable, error.message, hint: "--token-file names a file whose first line is the token")
      }
    }
    let token = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw VaultError(.badValue, TransportFailure.badToken.message, hint: "give the token that 'user add' printed")
    }
    return token
  }
}

/// A route file that cannot be used, with everything that is wrong.
struct RouteFileRefused: Error {
  let path: String
  let problems: [RouteProblem]
}

enum RemoteShowCommand {
  static func run(_ context: CommandContext) throws {
    let remote = try context.openVault().remote()
    if context.isJSON { return try RemoteFormat.write(remote, context) }
    guard let remote else { return context.hint("No server is set: fieldvault remote set URL --token-file FILE") }
    var table = [("url", remote.url), ("token", remote.hasToken ? "stored" : "none")]
    if let text = remote.routes { table.append(("routes", try RouteFile(json: text).service)) }
    if let account = remote.account { table.append(("account", account)) }
    if let user = remote.user { table.append(("user", user)) }
    for (title, text) in table {
      let padded = title + String(repeating: " ", count: 9 - title.count)
      try context.output.line(context.output.terminal.styled(padded, .bold) + escaped(text))
    }
  }
}

enum RemoteUnsetCommand {
  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let before = try vault.remote()
    try vault.unsetRemote()
    if context.isJSON { return try RemoteFormat.write(nil, context) }
    try context.tell(before == nil ? "No server was set." : "The server and its token are forgotten.")
    let waiting = try vault.status(countsRecords: false).pending
    if waiting > 0 { context.hint("\(operationsText(waiting)) stay for when a server is set again.") }
  }
}

private enum RemoteFormat {
  static func write(_ remote: RemoteSettings?, _ context: CommandContext) throws {
    try context.writeJSON { json in
      json.beginObject()
      json.member("url", remote?.url)
      json.member("hasToken", remote?.hasToken ?? false)
      json.member("routes", try remote?.routes.map { try RouteFile(json: $0).service })
      json.member("account", remote?.account)
      json.member("user", remote?.user)
      json.endObject()
    }
  }
}
