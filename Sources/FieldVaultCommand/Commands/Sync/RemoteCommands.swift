import CommandLineKit
import VaultStore
import RESTRemote
import VaultKeys
import HTTPClient

enum RemoteSetCommand: ProgramCommand {
  static let description = CommandDescription(
    "set", summary: "set the server and the token",
    discussion: """
      The token is read from the first line of --token-file, or prompted for on a terminal. It is stored in the \
      encrypted database and never shown. A token is valid for one address; a new address requires a new token. \
      http:// is accepted only for this machine, because others on the network could read the token and the records. \
      --routes connects to an existing REST API: the route file describes its requests for each entity. The file is \
      checked and stored in the vault, and from then on writes that the API does not support are refused. The server \
      and the token are checked first, and nothing is set if the check fails. --no-check skips the check, as does \
      device-only mode.
      """,
    arguments: [.required("URL", "the server address, such as https://sync.example.org")],
    options: [
      .value("routes", "FILE", "route file of an existing REST API (JSON)", completion: .file),
      .value("token-file", "FILE", "read the token from this file; - is standard input", completion: .file),
      .flag("no-check", "set the server without checking it"),
      .flag("allow-insecure", "accept http:// for another machine"),
    ],
    examples: [
      Example("fieldvault remote set https://sync.example.org --token-file token", "set the server"),
      Example("fieldvault remote set http://127.0.0.1:8787", "prompt for the token"),
      Example(
        "fieldvault remote set https://api.example.org --routes range.routes.json --token-file token",
        "connect to an existing REST API"),
    ],
    exitCodes: usual + [.offline, .refused, .credentials])

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
    try context.tell("The server is \(url)\(routes.map { ", with the routes of \($0.file)" } ?? "").")
    if token == nil, !isKept {
      context.hint("No token is set: fieldvault remote set \(url) --token-file FILE")
    } else {
      context.hint("To sync: fieldvault sync")
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
        .refused, error.message, hint: "\(error.hint), or add --allow-insecure on an encrypted network")
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
        throw VaultError(.badValue, "the token is empty", hint: "use the token printed by 'user add'")
      case .cancelled: throw error
      default:
        throw VaultError(.unreadable, error.message, hint: "the first line of the token file must be the token")
      }
    }
    let token = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw VaultError(.badValue, TransportFailure.badToken.message, hint: "use the token printed by 'user add'")
    }
    return token
  }
}

/// The error of an invalid route file, with all problems.
struct RouteFileRefused: Error {
  let path: String
  let problems: [RouteProblem]
}

enum RemoteShowCommand: ProgramCommand {
  static let description = CommandDescription(
    "show", summary: "show the address, the account and the user",
    examples: [Example("fieldvault remote show --json", "as JSON")], exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let remote = try context.openVault().remote()
    if context.isJSON { return try RemoteFormat.write(remote, context) }
    guard let remote else { return context.hint("No server set: fieldvault remote set URL --token-file FILE") }
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

enum RemoteUnsetCommand: ProgramCommand {
  static let description = CommandDescription(
    "unset", summary: "remove the address and the token",
    discussion: "Unsent changes stay in the vault. Sync continues when the same server is set again.",
    examples: [Example("fieldvault remote unset", "use the vault without a server")], exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let before = try vault.remote()
    try vault.unsetRemote()
    if context.isJSON { return try RemoteFormat.write(nil, context) }
    try context.tell(before == nil ? "No server was set." : "Removed the server and its token.")
    let waiting = try vault.status(countsRecords: false).pending
    if waiting > 0 { context.hint("\(operationsText(waiting)) stay in the outbox until a server is set again.") }
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
