import CipherSQL
import CommandLineKit
import FileServer
import HTTPServer
import Platform
import PostgresStorage
import SQLCipherStorage
import SchemaModel
import ServerStorage
import ShippedSchemas
import SyncServer

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The settings of `serve`, from its arguments and the files that they name. Reading them changes nothing.
struct ServeSettings {
  /// Where the data are.
  enum Source {
    case folder(String, keyFile: String?)
    case database(PostgresSettings)
  }

  let source: Source
  let schemas: [(source: SchemaSource, schema: Schema)]
  let listen: String
  let identity: TLSIdentity?
  let limits: ServerLimits
  let retentionDays: Int
  let publicURL: String
  let objectStore: ObjectStore?
  let webhook: Webhook.Settings?
  let adminListen: String?
  let slowRequest: Duration?
  let logFormat: RequestLog.Format
  let signIn: SignInSettings?
  private let arguments: ParsedArguments

  /// Reads the settings.
  /// - Parameter running: the limits of a running server, which keeps its number of connections; `nil` before it starts.
  init(_ context: CommandContext, running: ServerLimits? = nil) throws {
    arguments = context.arguments
    retentionDays = try arguments.integer("retention-days", in: 1...36_500) ?? 90
    objectStore = try Self.objectStore(arguments)
    limits = try Self.limits(arguments, running)
    identity = try Self.identity(arguments)
    publicURL = try Self.publicURL(arguments)
    listen = try arguments.required("listen")
    webhook = try Self.webhook(arguments)
    adminListen = arguments.value("admin-listen")
    slowRequest = try arguments.integer("slow-request-ms", in: 1...3_600_000).map { .milliseconds($0) }
    logFormat = try arguments.value("log-format", as: RequestLog.Format.self) ?? .text
    signIn = try Self.signIn(arguments)
    schemas = try context.namedSchemas()
    source = try Self.source(context, hasObjectStore: objectStore != nil)
  }

  private static func limits(_ arguments: ParsedArguments, _ running: ServerLimits?) throws -> ServerLimits {
    var limits = ServerLimits()
    // The declared default of such a limit is lowered to fit others, unlike a number that the operator chose.
    func chosen(_ name: String) throws -> Int? {
      arguments.isGiven(name) ? try arguments.integer(name, in: 1...1_000_000) : nil
    }
    limits.http.bodyBytes = try arguments.integer("max-body", in: 1_024...(1 << 30)) ?? limits.http.bodyBytes
    limits.openAccounts = try arguments.integer("open-accounts", in: 1...1_000_000) ?? limits.openAccounts
    limits.http.connections = try connections(chosen("max-connections"), arguments, limits)
    if let running { limits.http.connections = running.http.connections }
    limits.http.connectionsPerAddress =
      try chosen("max-connections-per-address") ?? min(limits.http.connectionsPerAddress, limits.http.connections)
    limits.waiters = try chosen("max-waiting") ?? min(limits.waiters, limits.http.connections)
    limits.waitersPerUser = try chosen("max-waiting-per-user") ?? min(limits.waitersPerUser, limits.waiters)
    limits.requestsPerSecond = try arguments.integer("rate", in: 1...1_000_000) ?? limits.requestsPerSecond
    limits.requestBurst = limits.requestsPerSecond * 5
    limits.files.requestsPerSecond = limits.requestsPerSecond * 5
    limits.files.requestBurst = limits.files.requestsPerSecond * 5
    limits.files.fileBytes = Int64(try arguments.integer("max-file", in: 1...(1 << 50)) ?? Int(limits.files.fileBytes))
    limits.files.quotaBytes = Int64(try arguments.integer("quota", in: 1...(1 << 60)) ?? Int(limits.files.quotaBytes))
    limits.recordsPerAccount = try arguments.integer("record-quota", in: 1...(1 << 50))
    limits.devicesPerAccount = try arguments.integer("device-quota", in: 1...1_000_000)
    limits.files.uploadSeconds =
      try arguments.integer("upload-days", in: 1...3_650).map { $0 * 86_400 } ?? limits.files.uploadSeconds
    let types = arguments.values("s3-type")
    if !types.isEmpty { limits.files.contentTypes = try contentTypes(types, arguments) }
    return limits
  }

  private static func source(_ context: CommandContext, hasObjectStore: Bool) throws -> Source {
    let arguments = context.arguments
    guard var settings = try context.databaseSettings() else {
      for name in ["database-listen", "database-connections", "database-pooled", "seal-key"]
      where arguments.isGiven(name) {
        throw arguments.mistake("\(arguments.spelled(name)) requires \(arguments.spelled("database"))", about: name)
      }
      return .folder(try context.dataFolder(), keyFile: arguments.value("key-file"))
    }
    guard hasObjectStore else {
      throw arguments.mistake(
        "\(arguments.spelled("database")) requires an object store for files", about: "database",
        hint: "give --s3-endpoint, --s3-bucket and --s3-credentials")
    }
    settings.listenURL = try context.databaseAddress("database-listen")
    settings.isPooled = arguments.flag("database-pooled")
    settings.connections = try arguments.integer("database-connections", in: 2...1_000) ?? settings.connections
    settings.sealKeys = try arguments.value("seal-key").map { file in
      try arguments.locating("seal-key") { try SealKeys(file: file) }
    }
    return .database(settings)
  }

  /// Returns the greatest number of connections, which together with the open accounts must fit the descriptors of this
  /// process. The default is lowered to fit.
  private static func connections(
    _ chosen: Int?, _ arguments: ParsedArguments, _ limits: ServerLimits
  ) throws -> Int {
    let descriptors = ProcessResources.raiseDescriptorLimit()
    let free = descriptors - Self.reservedDescriptors
    let largest = free - limits.openAccounts * EmbeddedStorage.descriptorsPerAccount
    let reason = "the system permits \(descriptors) open files"
    guard largest > 0 else {
      throw arguments.mistake(
        "\(arguments.spelled("open-accounts")) is at most \(max(free - 1, 0) / EmbeddedStorage.descriptorsPerAccount): \(reason)",
        about: "open-accounts", hint: "raise the hard limit of open files: ulimit -Hn, or LimitNOFILE of systemd")
    }
    guard let connections = chosen else { return min(limits.http.connections, largest) }
    guard connections <= largest else {
      throw arguments.mistake(
        "\(arguments.spelled("max-connections")) is at most \(largest) with \(arguments.spelled("open-accounts")) "
          + "\(limits.openAccounts): \(reason)",
        about: "max-connections", hint: "lower --open-accounts, or raise the hard limit of open files")
    }
    return connections
  }

  /// The descriptors for all else: the directory, sockets that listen, the log.
  private static let reservedDescriptors = 64

  private static func publicURL(_ arguments: ParsedArguments) throws -> String {
    guard var url = arguments.value("public-url") else { return "" }
    while url.hasSuffix("/") { url.removeLast() }
    let isPlain = url.unicodeScalars.allSatisfy { $0.isASCII && $0.value > 0x20 && $0.value < 0x7F }
    guard isPlain, url.hasPrefix("https://") || url.hasPrefix("http://"), url.split(separator: "/").count > 1 else {
      throw arguments.mistake(
        "\(arguments.spelled("public-url")) must begin with https:// or http://", about: "public-url")
    }
    return url
  }

  private static func webhook(_ arguments: ParsedArguments) throws -> Webhook.Settings? {
    switch (arguments.value("notify-url"), arguments.value("notify-key")) {
    case (nil, nil): return nil
    case (let url?, let key?):
      return try arguments.locating("notify-key") { try Webhook.Settings(url: url, keyFile: key) }
    default: throw incomplete(["notify-url", "notify-key"], arguments)
    }
  }

  private static func signIn(_ arguments: ParsedArguments) throws -> SignInSettings? {
    let keys = try providerKeys(arguments)
    guard let issuer = arguments.value("jwt-issuer"), let audience = arguments.value("jwt-audience"), let keys else {
      let whole = ["jwt-issuer", "jwt-audience"]
      if keys != nil || whole.contains(where: arguments.isGiven) {
        let place = arguments.isGiven("jwt-keys-url") ? "jwt-keys-url" : "jwt-keys"
        throw incomplete(whole + [place], arguments)
      }
      let others = ["jwt-account-claim", "jwt-user-claim", "jwt-role-claim", "jwt-default-account"]
      let flag = "jwt-create-accounts"
      if let other = others.first(where: arguments.isGiven) ?? (arguments.flag(flag) ? flag : nil) {
        throw arguments.mistake("\(arguments.spelled(other)) requires \(arguments.spelled("jwt-issuer"))", about: other)
      }
      return nil
    }
    var provider = IdentityProvider(issuer: issuer, audience: audience)
    provider.userClaim = arguments.value("jwt-user-claim") ?? provider.userClaim
    provider.accountClaim = arguments.value("jwt-account-claim")
    provider.roleClaim = arguments.value("jwt-role-claim")
    provider.createsAccounts = arguments.flag("jwt-create-accounts")
    if let role = provider.roleClaim, [provider.userClaim, provider.accountClaim].contains(role) {
      throw arguments.mistake(
        "\(arguments.spelled("jwt-role-claim")) is also the claim of the user or the account", about: "jwt-role-claim")
    }
    provider.defaultAccount = arguments.value("jwt-default-account")
    if let account = provider.defaultAccount {
      try arguments.locating("jwt-default-account") { try ServerDirectory.check(account, "account") }
    } else if provider.accountClaim == nil {
      provider.defaultAccount = ServerDirectory.defaultAccount
    }
    return SignInSettings(provider: provider, keys: keys)
  }

  private static func providerKeys(_ arguments: ParsedArguments) throws -> ProviderKeySource? {
    switch (arguments.value("jwt-keys"), arguments.value("jwt-keys-url")) {
    case (nil, nil): return nil
    case (let file?, nil): return try arguments.locating("jwt-keys") { try ProviderKeySource(file: file) }
    case (nil, let url?): return try arguments.locating("jwt-keys-url") { try ProviderKeySource(url: url) }
    default:
      throw arguments.mistake(
        "\(arguments.spelled("jwt-keys")) and \(arguments.spelled("jwt-keys-url")) exclude each other",
        about: "jwt-keys")
    }
  }

  static func objectStore(_ arguments: ParsedArguments) throws -> ObjectStore? {
    let (endpoint, bucket) = (arguments.value("s3-endpoint"), arguments.value("s3-bucket"))
    switch (endpoint, bucket, arguments.value("s3-credentials")) {
    case (nil, nil, nil):
      let others = ["s3-region", "s3-address-seconds", "s3-type"]
      if let other = others.first(where: arguments.isGiven) {
        throw arguments.mistake("\(arguments.spelled(other)) requires an object store: --s3-endpoint", about: other)
      }
      return nil
    case (let endpoint?, let bucket?, let file?):
      let credentials = try arguments.locating("s3-credentials") { try ObjectStoreCredentials(file: file) }
      let seconds =
        try arguments.integer("s3-address-seconds", in: 1...604_800) ?? ObjectStore.usualAddressSeconds
      let region = try arguments.required("s3-region")
      return try arguments.locating("s3-endpoint") {
        try ObjectStore(
          endpoint: endpoint, bucket: bucket, region: region, credentials: credentials, addressSeconds: seconds)
      }
    default: throw incomplete(["s3-endpoint", "s3-bucket", "s3-credentials"], arguments)
    }
  }

  /// Returns the error for settings that must be given together.
  private static func incomplete(_ names: [String], _ arguments: ParsedArguments) -> UsageError {
    let words = names.map(arguments.spelled)
    return arguments.mistake(
      "\(words.dropLast().joined(separator: ", ")) and \(words.last ?? "") must be given together",
      about: names.first(where: arguments.isGiven))
  }

  private static func contentTypes(_ types: [String], _ arguments: ParsedArguments) throws -> ContentTypes {
    for type in types where !ContentTypes.isType(type.hasSuffix("/*") ? type.dropLast() + "x" : type) {
      throw arguments.mistake(
        "\(arguments.spelled("s3-type")) takes a media type such as image/jpeg, or image/*", about: "s3-type")
    }
    return ContentTypes(types)
  }

  private static func identity(_ arguments: ParsedArguments) throws -> TLSIdentity? {
    switch (arguments.value("tls-cert"), arguments.value("tls-key")) {
    case (nil, nil): return nil
    case (let certificate?, let key?):
      return try arguments.locating("tls-cert") { try TLSIdentity(certificateFile: certificate, keyFile: key) }
    default: throw incomplete(["tls-cert", "tls-key"], arguments)
    }
  }
}

extension CommandContext {
  /// The schemas of `--schema`.
  func namedSchemas() throws -> [(source: SchemaSource, schema: Schema)] {
    try arguments.values("schema").enumerated().map { index, word in
      try arguments.locating("schema", at: index) { try Self.schema(word) }
    }
  }

  /// A schema that the program carries, or a folder.
  private static func schema(_ word: String) throws -> (source: SchemaSource, schema: Schema) {
    if let schema = Schema.shipped.first(where: { $0.name == word }) {
      return (SchemaSource(name: word, folder: nil), schema)
    }
    let url = URL(filePath: word).standardizedFileURL
    var isFolder = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder else {
      let names = Schema.shipped.map(\.name).joined(separator: ", ")
      throw ServerError(
        .noData, "'\(word)' is neither a shipped schema (\(names)) nor a folder",
        hint: "give the path of a folder that contains NNNN_name.sql files")
    }
    let path = url.path.count > 1 && url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
    let schema = try Schema.loadOwn(folder: path)
    return (SchemaSource(name: schema.name, folder: path), schema)
  }
}

extension ServeSettings {
  /// Opens the data and starts the server.
  func start(_ context: CommandContext) throws -> FieldVaultServer {
    let (source, schemas) = try open(context)
    let log = RequestLog(format: logFormat, hasRequests: !arguments.flag("quiet")) { line in context.line(line) }
    var settings = FieldVaultServer.Settings(
      source, listen: listen, schemas: schemas, identity: identity, limits: limits, retentionDays: retentionDays,
      log: log)
    settings.publicURL = publicURL
    settings.objectStore = objectStore
    settings.webhook = webhook
    settings.signIn = signIn
    settings.adminListen = adminListen
    settings.linkHint = "Run 'fieldvault-server inspect' for another link, and open it in this browser."
    settings.slowRequest = slowRequest
    settings.version = ServerProgram.version
    do {
      return try FieldVaultServer(settings)
    } catch let error as HTTPServerError {
      throw located(error)
    }
  }

  private func located(_ error: HTTPServerError) -> any Error {
    if error.code == .badCertificate { return arguments.located(error, "tls-cert") }
    // With two addresses, the message tells which of them it is about.
    return adminListen == nil ? arguments.located(error, "listen") : error
  }

  /// Opens the data, and returns the schemas that they serve.
  private func open(_ context: CommandContext) throws -> (FieldVaultServer.Source, [Schema]) {
    switch source {
    case .folder:
      return try arguments.locating("data") {
        let folder = try context.folder(isCreating: true)
        let directory = try ServerDirectory(in: folder)
        defer { directory.close() }
        return (.folder(folder), try directory.schemas(adding: schemas, shipped: Schema.shipped))
      }
    case .database(let settings):
      return try arguments.locating("database") {
        let database = try PostgresDatabase(settings)
        let schemas = try PostgresDirectory(database).schemas(adding: schemas, shipped: Schema.shipped)
        return (.database(database, scratch: FileManager.default.temporaryDirectory.path), schemas)
      }
    }
  }

  /// Checks the data, the address and the certificate, and changes nothing.
  func check() async throws {
    switch source {
    case .folder(let path, let keyFile):
      _ = try arguments.locating("data") {
        try ServerFolder.check(path, keyFile: keyFile, adding: schemas, shipped: Schema.shipped)
      }
    case .database(let settings):
      _ = try arguments.locating("database") {
        try PostgresDatabase.check(settings, adding: schemas, shipped: Schema.shipped)
      }
    }
    do throws(HTTPServerError) {
      try await HTTPServer.check(listen: listen, identity: identity)
      if let adminListen { try await HTTPServer.check(listen: adminListen, identity: nil) }
    } catch {
      throw located(error)
    }
  }
}

extension ServerProgram {
  /// The options of sign-in with an identity provider.
  static let signInOptions: [OptionDescription] = [
    .value(
      "jwt-issuer", "ISSUER",
      "accept tokens (JWT) of the identity provider with this claim 'iss'; needs an audience and keys"
    ),
    .value("jwt-audience", "AUDIENCE", "the value that the claim 'aud' of a token contains"),
    .value(
      "jwt-keys", "FILE", "the public keys of the identity provider, a JWKS document", completion: .file,
      isReloadable: true),
    .value("jwt-keys-url", "URL", "the address of the public keys, in place of a file; fetched every hour"),
    .value("jwt-user-claim", "CLAIM", "the claim with the name of the user (default: sub)"),
    .value(
      "jwt-account-claim", "CLAIM", "the claim with the name of the account (default: one account for all users)"),
    .value(
      "jwt-default-account", "A",
      "the account of tokens without the claim (default: default, without --jwt-account-claim)"),
    .value("jwt-role-claim", "CLAIM", "the claim with the role: device, service or admin (default: all are devices)"),
    .flag("jwt-create-accounts", "create an account that a token names and that does not exist"),
  ]
}
