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

/// Serves until a signal asks to stop.
enum ServeCommand {
  static func run(_ context: CommandContext) async throws {
    let server = try start(context)
    let stopping = AsyncStream.makeStream(of: Void.self)
    Signals.onStop { _ in stopping.continuation.finish() }
    Signals.onHangUp { reload(server, context) }
    try context.output.line("listening on \(server.url)")
    if let url = server.adminURL { try context.output.line("metrics on \(url)/metrics") }
    try context.output.flush()
    for await _ in stopping.stream {}
    await server.stop()
  }

  /// Reads the certificate again, as after it was renewed. One that cannot be used changes nothing.
  private static func reload(_ server: FieldVaultServer, _ context: CommandContext) {
    do {
      guard let identity = try identity(context.arguments) else { return }
      try server.replace(identity)
      context.note("reloaded the certificate")
    } catch {
      context.note("cannot reload the certificate: \(error)")
    }
  }

  private static func start(_ context: CommandContext) throws -> FieldVaultServer {
    let arguments = context.arguments
    let days = try arguments.integer("retention-days", in: 1...36_500) ?? 90
    var limits = ServerLimits()
    limits.http.bodyBytes = try arguments.integer("max-body", in: 1_024...(1 << 30)) ?? limits.http.bodyBytes
    let most = 1...1_000_000
    limits.openAccounts = try arguments.integer("open-accounts", in: most) ?? limits.openAccounts
    limits.http.connections = try connections(arguments, limits)
    limits.http.connectionsPerAddress =
      try arguments.integer("max-connections-per-address", in: most)
      ?? min(limits.http.connectionsPerAddress, limits.http.connections)
    limits.waiters = try arguments.integer("max-waiting", in: most) ?? min(limits.waiters, limits.http.connections)
    limits.waitersPerUser =
      try arguments.integer("max-waiting-per-user", in: most) ?? min(limits.waitersPerUser, limits.waiters)
    limits.requestsPerSecond = try arguments.integer("rate", in: 1...1_000_000) ?? limits.requestsPerSecond
    limits.requestBurst = limits.requestsPerSecond * 5
    limits.files.requestsPerSecond = limits.requestsPerSecond * 5
    limits.files.requestBurst = limits.files.requestsPerSecond * 5
    limits.files.fileBytes = Int64(try arguments.integer("max-file", in: 1...(1 << 50)) ?? Int(limits.files.fileBytes))
    limits.files.quotaBytes = Int64(try arguments.integer("quota", in: 1...(1 << 60)) ?? Int(limits.files.quotaBytes))
    limits.files.uploadSeconds =
      try arguments.integer("upload-days", in: 1...3_650).map { $0 * 86_400 } ?? limits.files.uploadSeconds
    let objectStore = try objectStore(arguments)
    let types = arguments.values("s3-type")
    if !types.isEmpty { limits.files.contentTypes = try contentTypes(types, arguments) }
    let identity = try identity(arguments)
    let publicURL = try publicURL(arguments)
    let named = try context.namedSchemas()
    let (source, schemas) = try source(context, named, hasObjectStore: objectStore != nil)
    let format = try arguments.value("log-format").map { word in
      guard let format = RequestLog.Format(rawValue: word) else {
        throw arguments.mistake("--log-format is text or json", about: "log-format")
      }
      return format
    }
    let log = RequestLog(format: format ?? .text, hasRequests: !arguments.flag("quiet")) { line in context.line(line) }
    var settings = FieldVaultServer.Settings(
      source, listen: try arguments.required("listen"), schemas: schemas, identity: identity, limits: limits,
      retentionDays: days, log: log)
    settings.publicURL = publicURL
    settings.objectStore = objectStore
    settings.webhook = try webhook(arguments)
    settings.adminListen = arguments.value("admin-listen")
    settings.slowRequest = try arguments.integer("slow-request-ms", in: 1...3_600_000).map { .milliseconds($0) }
    settings.version = ServerProgram.version
    return try FieldVaultServer(settings)
  }

  /// Opens the data, and returns the schemas that they serve.
  private static func source(
    _ context: CommandContext, _ named: [(source: SchemaSource, schema: Schema)], hasObjectStore: Bool
  ) throws -> (FieldVaultServer.Source, [Schema]) {
    let arguments = context.arguments
    guard var settings = try context.databaseSettings() else {
      for name in ["database-listen", "database-connections", "database-pooled", "seal-key"]
      where arguments.isGiven(name) {
        throw arguments.mistake("--\(name) requires --database", about: name)
      }
      let folder = try context.folder(isCreating: true)
      let directory = try ServerDirectory(in: folder)
      defer { directory.close() }
      return (.folder(folder), try directory.schemas(adding: named, shipped: Schema.shipped))
    }
    guard hasObjectStore else {
      throw arguments.mistake(
        "--database requires an object store for files", about: "database",
        hint: "give --s3-endpoint, --s3-bucket and --s3-credentials")
    }
    settings.listenURL = arguments.value("database-listen")
    settings.isPooled = arguments.flag("database-pooled")
    settings.connections = try arguments.integer("database-connections", in: 2...1_000) ?? settings.connections
    settings.sealKeys = try arguments.value("seal-key").map { try SealKeys(file: $0) }
    let database = try PostgresDatabase(settings)
    let schemas = try PostgresDirectory(database).schemas(adding: named, shipped: Schema.shipped)
    return (.database(database, scratch: FileManager.default.temporaryDirectory.path), schemas)
  }

  /// Returns the greatest number of connections, which together with the open accounts must fit the descriptors of this
  /// process. The default is lowered to fit.
  private static func connections(_ arguments: ParsedArguments, _ limits: ServerLimits) throws -> Int {
    let descriptors = ProcessResources.raiseDescriptorLimit()
    let free = descriptors - Self.reservedDescriptors
    let largest = free - limits.openAccounts * EmbeddedStorage.descriptorsPerAccount
    let reason = "the system permits \(descriptors) open files"
    guard largest > 0 else {
      throw arguments.mistake(
        "--open-accounts is at most \(max(free - 1, 0) / EmbeddedStorage.descriptorsPerAccount): \(reason)",
        about: "open-accounts", hint: "raise the hard limit of open files: ulimit -Hn, or LimitNOFILE of systemd")
    }
    guard let connections = try arguments.integer("max-connections", in: 1...1_000_000) else {
      return min(limits.http.connections, largest)
    }
    guard connections <= largest else {
      throw arguments.mistake(
        "--max-connections is at most \(largest) with --open-accounts \(limits.openAccounts): \(reason)",
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
      throw arguments.mistake("--public-url must begin with https:// or http://")
    }
    return url
  }

  private static func webhook(_ arguments: ParsedArguments) throws -> Webhook.Settings? {
    switch (arguments.value("notify-url"), arguments.value("notify-key")) {
    case (nil, nil): return nil
    case (let url?, let key?): return try Webhook.Settings(url: url, keyFile: key)
    default: throw arguments.mistake("--notify-url and --notify-key must be given together")
    }
  }

  private static func objectStore(_ arguments: ParsedArguments) throws -> ObjectStore? {
    let (endpoint, bucket) = (arguments.value("s3-endpoint"), arguments.value("s3-bucket"))
    switch (endpoint, bucket, arguments.value("s3-credentials")) {
    case (nil, nil, nil):
      let others = ["s3-region", "s3-address-seconds", "s3-type"]
      if let other = others.first(where: { !arguments.values($0).isEmpty }) {
        throw arguments.mistake("--\(other) requires an object store: --s3-endpoint")
      }
      return nil
    case (let endpoint?, let bucket?, let file?):
      return try ObjectStore(
        endpoint: endpoint, bucket: bucket, region: arguments.value("s3-region") ?? "us-east-1",
        credentials: ObjectStoreCredentials(file: file),
        addressSeconds: arguments.integer("s3-address-seconds", in: 1...604_800) ?? ObjectStore.usualAddressSeconds)
    default: throw arguments.mistake("--s3-endpoint, --s3-bucket and --s3-credentials must be given together")
    }
  }

  private static func contentTypes(_ types: [String], _ arguments: ParsedArguments) throws -> ContentTypes {
    for type in types where !ContentTypes.isType(type.hasSuffix("/*") ? type.dropLast() + "x" : type) {
      throw arguments.mistake("--s3-type takes a media type such as image/jpeg, or image/*")
    }
    return ContentTypes(types)
  }

  private static func identity(_ arguments: ParsedArguments) throws -> TLSIdentity? {
    switch (arguments.value("tls-cert"), arguments.value("tls-key")) {
    case (nil, nil): return nil
    case (let certificate?, let key?): return try TLSIdentity(certificateFile: certificate, keyFile: key)
    default: throw arguments.mistake("--tls-cert and --tls-key must be given together")
    }
  }

}

extension CommandContext {
  /// The schemas of `--schema`.
  func namedSchemas() throws -> [(source: SchemaSource, schema: Schema)] {
    try arguments.values("schema").map(Self.schema)
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
