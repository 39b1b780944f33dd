import CipherSQL
import FileServer
import HTTPServer
import Platform
import PostgresStorage
import SQLCipherStorage
import ServerStorage

/// A running server that serves the accounts of a folder over HTTP, in FieldVault's wire format.
///
/// ```swift
/// let server = try FieldVaultServer(settings)
/// print(server.url)
/// await server.stop()
/// ```
public final class FieldVaultServer: Sendable {
  /// Where a server has its data. It provides the clock and the random source.
  public enum Source: Sendable {
    /// A folder, which one server uses.
    case folder(ServerFolder)
    /// A PostgreSQL database, which several servers use as nodes. Files are in an object store, and the folder `scratch` has
    /// copies while they are compared.
    case database(PostgresDatabase, scratch: String)

    var environment: Environment {
      switch self {
      case .folder(let folder): folder.environment
      case .database(let database, _): database.environment
      }
    }
  }

  /// The settings of a server.
  public struct Settings: Sendable {
    /// Where the data are.
    public var source: Source
    /// The address to listen on, `HOST:PORT`. For port 0 the system chooses a port.
    public var listen: String
    /// The certificate and key for TLS; `nil` for plain HTTP.
    public var identity: TLSIdentity?
    /// The schemas of the accounts' records.
    public var schemas: [Schema]
    /// The limits of a client.
    public var limits: ServerLimits
    /// The number of days for which the server stores responses and deletions.
    public var retentionDays: Int
    /// The log of requests.
    public var log: RequestLog
    /// The address of the server as clients see it, without a trailing slash, such as `https://sync.example.org`.
    /// With it, the addresses of uploads are absolute, which some third-party tus clients require. Without it, they
    /// are paths.
    public var publicURL = ""
    /// The object store to which devices upload files; `nil` to store files on the server's disk. A server with a database
    /// takes no files without it.
    public var objectStore: ObjectStore?
    /// The address for the operator, `HOST:PORT`, with figures and health without tokens, and with pages for browsers that have
    /// opened a link of `OperatorDirectory`; `nil` for none.
    public var adminListen: String?
    /// A sentence on the pages for browsers without a session: how an operator makes a link.
    public var linkHint = "Open another link in this browser."
    /// The duration from which a request counts as slow; `nil` without a limit.
    public var slowRequest: Duration?
    /// The version of the program, for its figures.
    public var version = ""
    /// Where to announce changes; `nil` for nowhere.
    public var webhook: Webhook.Settings?
    /// Whose tokens are accepted beside those of this server; `nil` for none.
    public var signIn: SignInSettings?
    /// Creates the storage of files; tests inject their own.
    var fileStorage: @Sendable (ServerFolder, Int) -> DiskFileStorage = { DiskFileStorage(in: $0, openAccounts: $1) }

    /// Creates settings of a folder, with the default limits and a silent log.
    public init(
      folder: ServerFolder, listen: String, schemas: [Schema], identity: TLSIdentity? = nil,
      limits: ServerLimits = ServerLimits(), retentionDays: Int = 90, log: RequestLog = .silent
    ) {
      self.init(
        .folder(folder), listen: listen, schemas: schemas, identity: identity, limits: limits,
        retentionDays: retentionDays, log: log)
    }

    /// Creates settings with the default limits and a silent log.
    public init(
      _ source: Source, listen: String, schemas: [Schema], identity: TLSIdentity? = nil,
      limits: ServerLimits = ServerLimits(), retentionDays: Int = 90, log: RequestLog = .silent
    ) {
      self.source = source
      self.listen = listen
      self.identity = identity
      self.schemas = schemas
      self.limits = limits
      self.retentionDays = retentionDays
      self.log = log
    }
  }

  /// The URL of the server, such as `http://127.0.0.1:8787`.
  public let url: String
  /// The URL of the operator's address; `nil` without one.
  public let adminURL: String?
  private let http: HTTPServer
  private let admin: HTTPServer?
  private let data: ServedData
  private let stopTime: Duration

  /// Opens the data and starts the server.
  /// - Throws: ``ServerError`` with `busy` if another server uses the folder, or with `wrongKey`; ``HTTPServerError``;
  ///   `SQLError` for a schema that cannot be applied.
  public init(_ settings: Settings) throws {
    let data = try ServedData(settings)
    let environment = settings.source.environment
    let admin = try settings.adminListen.map { listen in
      try HTTPServer(
        listen: listen, identity: nil, limits: .admin, log: data.log, environment: environment,
        handlers: HTTPServer.Handlers(
          admit: { data.admitOperator($0) }, respond: { await data.respondToOperator($0) }))
    }
    do {
      http = try HTTPServer(
        listen: settings.listen, identity: settings.identity, limits: settings.limits.http, log: data.log,
        environment: environment,
        handlers: HTTPServer.Handlers(
          admit: { data.router.admit($0) }, respond: { await data.router.respond(to: $0) },
          isValid: { data.isValid($0) }, completed: { data.completed($0) }))
    } catch {
      admin?.abandon()
      throw error
    }
    self.admin = admin
    adminURL = admin.map { "http://" + $0.address }
    data.metrics.add(http, limit: settings.limits.http.connections)
    url = (settings.identity == nil ? "http://" : "https://") + http.address
    stopTime = .seconds(settings.limits.http.stopSeconds)
    self.data = data
    data.startHousekeeping()
  }

  var storage: any RecordStorage { data.storage }
  var files: any FileStorage { data.files }

  /// Uses another certificate from now on, for example after its files were renewed. Requests in flight finish.
  /// - Throws: ``HTTPServerError`` with `badCertificate`. The old certificate stays in use in this case.
  public func replace(_ identity: TLSIdentity) throws(HTTPServerError) { try http.replace(identity) }

  /// Uses other rates of requests and other numbers of waiting requests from now on. Other limits stay as they are.
  public func change(_ limits: ServerLimits) { data.change(limits) }

  /// Uses other keys of the identity provider from now on, if the server has them from a file.
  public func replace(_ keys: ProviderKeySource) { data.providerKeys?.replace(keys) }

  /// The memory of bodies, in bytes.
  package var bodyMemory: Int { http.memory.total }
  /// The number of requests in flight.
  package var requestCount: Int { http.requestCount }

  /// Refuses new connections, finishes requests in flight, ends long polls at once, and closes the databases.
  public func stop() async {
    data.stopWaiting()
    await http.stop()
    await admin?.stop()
    await data.close(waitingAtMost: stopTime)
  }
}

extension ServerFolder {
  /// Opens the folder.
  ///
  /// Only a folder without any data is set up. Data without its key or its directory is damaged. A missing file is
  /// never replaced.
  /// - Parameters:
  ///   - keyFile: the file of the secret; `server.key` in the folder if `nil`.
  ///   - isCreating: whether to set up a folder without data.
  /// - Throws: ``ServerError`` with `noData` for a folder without data if `isCreating` is `false`, with `wrongKey` for
  ///   a missing key file, with `damaged` for a missing or empty directory; `KeyError`; `VaultError`.
  public init(_ path: String, keyFile: String? = nil, isCreating: Bool) throws {
    try self.init(path, keyFile: keyFile, isCreating: isCreating, databases: [.records, .files])
  }
}
