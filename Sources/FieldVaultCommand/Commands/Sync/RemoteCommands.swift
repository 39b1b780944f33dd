import Platform
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
      --token-command names a command whose first line of output is a token, such as that of an identity provider. It \
      is run by /bin/sh when a token is missing, and again when the server refuses the token. The command is stored in the \
      vault: a vault of another user may run any command, so look at 'remote show' before its first sync. \
      --ca-file adds the certificates of a company's own authority to those of the system; they are stored in the vault. \
      Servers on other machines are reached through the proxy of the variables https_proxy, http_proxy (for http://), \
      all_proxy and no_proxy. \
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
      .value("token-command", "CMD", "run this command for a token, now and when it has expired", completion: .none),
      .value("ca-file", "FILE", "accept servers with certificates of these authorities (PEM)", completion: .file),
      .flag("no-check", "set the server without checking it"),
      .flag("allow-insecure", "accept http:// for another machine"),
    ],
    choices: [Choice("token-file", "token-command")],
    examples: [
      Example("fieldvault remote set https://sync.example.org --token-file token", "set the server"),
      Example(
        "fieldvault remote set https://sync.example.org --token-command 'company-login --print-token'",
        "sign in with an identity provider"),
      Example(
        "fieldvault remote set https://sync.example.org --token-file token --ca-file company-ca.pem",
        "trust the authority of a company"),
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
    let isSame = before?.url == url
    let routes = try routes(context, for: vault)
    let authorities = try authorities(context)
    let credentials = try credentials(context, for: url, of: vault, isKept: isSame && before?.hasCredentials == true)
    var token = credentials.token
    if !context.arguments.flag("no-check"), try vault.preference(.mode) != "device" {
      let kept = isSame ? try before?.authorities.map { try CertificateAuthorities(pem: $0) } : nil
      token = try Server.check(
        url, token: token, command: credentials.command, routes: routes?.file, authorities: authorities ?? kept,
        of: vault)
    }
    try vault.setRemote(
      url: url, token: token, tokenCommand: credentials.command, routes: routes?.routes, authorities: authorities?.pem)
    for warning in routes?.file.warnings ?? [] { context.note(warning) }
    if context.isJSON { return try RemoteFormat.write(try vault.remote(), context) }
    try context.tell("The server is \(url)\(routes.map { ", with the routes of \($0.path)" } ?? "").")
    if try vault.remote()?.hasCredentials != true {
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
  ) throws -> (path: String, routes: RemoteRoutes, file: RouteFile)? {
    guard let path = context.arguments.value("routes") else { return nil }
    let text = try ByteSource(path: path).readText(limit: RouteFile.longestText)
    do throws(RouteFileError) {
      return (path, try RouteFile.routes(json: text, for: vault), try RouteFile(json: text))
    } catch {
      throw RouteFileRefused(path: path, problems: error.problems)
    }
  }

  /// The certificates of `--ca-file`.
  private static func authorities(_ context: CommandContext) throws -> CertificateAuthorities? {
    guard let path = context.arguments.value("ca-file") else { return nil }
    let text = try ByteSource(path: path).readText(limit: 1 << 20)
    let hint = "the file must have the certificates of the authority, from -----BEGIN CERTIFICATE----- on"
    do throws(CertificateAuthorities.Problem) {
      return try CertificateAuthorities(pem: text)
    } catch {
      switch error {
      case .noCertificate: throw VaultError(.badValue, "no PEM-encoded certificate in \(path)", hint: hint)
      case .damaged(let number):
        throw VaultError(.badValue, "the certificate \(number) in \(path) is damaged or incomplete", hint: hint)
      }
    }
  }

  /// Returns the token of `--token-file` or of a prompt, or the command of `--token-command`. Without any of them, the
  /// stored token and command of the same address.
  private static func credentials(
    _ context: CommandContext, for url: String, of vault: Vault, isKept: Bool
  ) throws -> (token: String?, command: String?) {
    if let command = context.arguments.value("token-command") {
      guard command.contains(where: { !$0.isWhitespace }) else {
        throw context.arguments.mistake("the token command is empty", about: "token-command")
      }
      return (nil, command)
    }
    if let file = context.arguments.value("token-file") { return (try token(from: SecretSource(option: file)), nil) }
    if isKept { return (try vault.remoteToken(for: url), try vault.remoteTokenCommand(for: url)) }
    return (context.canAsk ? try token(from: .terminal(prompt: "Token: ")) : nil, nil)
  }

  private static func token(from source: SecretSource) throws -> String {
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
    if let command = remote.tokenCommand { table.append(("command", command)) }
    if let pem = remote.authorities {
      let count = try CertificateAuthorities(pem: pem).count
      table.append(("ca", count == 1 ? "1 certificate" : "\(countText(count)) certificates"))
    }
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
    "unset", summary: "remove the address, the token and its command, and the authorities",
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
      json.member("tokenCommand", remote?.tokenCommand)
      json.member("certificates", try remote?.authorities.map { try CertificateAuthorities(pem: $0).count } ?? 0)
      json.member("routes", try remote?.routes.map { try RouteFile(json: $0).service })
      json.member("account", remote?.account)
      json.member("user", remote?.user)
      json.endObject()
    }
  }
}
