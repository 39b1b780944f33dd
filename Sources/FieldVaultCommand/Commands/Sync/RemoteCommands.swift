import CommandLineKit
import VaultStore
import RESTRemote
import VaultKeys
import HTTPClient

enum RemoteSetCommand: ProgramCommand {
  static let description = CommandDescription(
    "set", summary: "set the server and the token",
    discussion: """
      The token is the first line of --token-file, or is asked for on a terminal; it is kept in the encrypted \
      database and never shown. A token is valid for one address; a new address requires a new token. http:// \
      is for servers on this machine; elsewhere everybody on the way could read the token and the records. With \
      --routes the server is an API that exists already: the file says how it takes and gives each kind of record. \
      What it has no way to take is refused from then on when it is written. The file is checked and kept in the vault. \
      The server and the token are tried at once, and nothing is set when that fails; --no-check leaves that out, as \
      does a vault in device-only mode.
      """,
    arguments: [.required("URL", "its address, such as https://sync.example.org")],
    options: [
      .value("routes", "FILE", "the routes of an API that is no FieldVault server (JSON)", completion: .file),
      .value("token-file", "FILE", "the token is the first line of FILE; - is standard input", completion: .file),
      .flag("no-check", "set it without asking the server"),
      .flag("allow-insecure", "take http:// for another machine, where something else encrypts"),
    ],
    examples: [
      Example("fieldvault remote set https://sync.example.org --token-file token", "and then: fieldvault sync"),
      Example("fieldvault remote set http://127.0.0.1:8787", "asks for the token"),
      Example(
        "fieldvault remote set https://api.example.org --routes range.routes.json --token-file token",
        "an API that exists already"),
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

enum RemoteShowCommand: ProgramCommand {
  static let description = CommandDescription(
    "show", summary: "the address, and whose records these are",
    examples: [Example("fieldvault remote show --json", "for a program")], exitCodes: usual)

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

enum RemoteUnsetCommand: ProgramCommand {
  static let description = CommandDescription(
    "unset", summary: "forget the address and the token",
    discussion: "What is not sent stays. With the same server set again, sync goes on where it was.",
    examples: [Example("fieldvault remote unset", "back to a vault without a server")], exitCodes: usual)

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
