import CipherSQL
import FileServer
import HTTPServer
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
  /// The settings of a server. The folder provides the clock and the random source.
  public struct Settings: Sendable {
    /// The folder of the data.
    public var folder: ServerFolder
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
    /// The object store to which devices upload files; `nil` to store files on the server's disk.
    public var objectStore: ObjectStore?
    /// Creates the storage of files; tests inject their own.
    var fileStorage: @Sendable (ServerFolder) -> DiskFileStorage = { DiskFileStorage(in: $0) }

    /// Creates settings with the default limits and a silent log.
    public init(
      folder: ServerFolder, listen: String, schemas: [Schema], identity: TLSIdentity? = nil,
      limits: ServerLimits = ServerLimits(), retentionDays: Int = 90, log: RequestLog = .silent
    ) {
      self.folder = folder
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
  private let http: HTTPServer
  let storage: any RecordStorage
  let files: any FileStorage
  private let sessions: UploadSessions
  private let stopTime: Duration
  private let directory: ServerDirectory
  private let housekeeping: Task<Void, Never>
  private let hold: Locked<FolderLock?>

  /// Opens the data and starts the server.
  /// - Throws: ``ServerError`` with `busy` if another server uses the folder, or with `wrongKey`; ``HTTPServerError``;
  ///   `SQLError` for a schema that cannot be applied.
  public init(_ settings: Settings) throws {
    hold = Locked(try settings.folder.holdForServing())
    let environment = settings.folder.environment
    let log = settings.log.timed(by: environment.clock)
    let directory = try ServerDirectory(in: settings.folder)
    let storage = try EmbeddedStorage(
      in: settings.folder, schemas: settings.schemas, accounts: try directory.accounts(),
      log: { log.failure($0) })
    self.directory = directory
    self.storage = storage
    let files = settings.fileStorage(settings.folder)
    self.files = files
    let limits = settings.limits
    stopTime = .seconds(limits.http.stopSeconds)
    sessions = UploadSessions(limit: limits.files.uploadsAtOnce, clock: environment.clock)
    let inUse = { @Sendable (account: AccountName, contents: [String]) in
      try await storage.flushFailedCommits(account)
      return try await storage.read(account) { try $0.contentsInUse(among: contents) }
    }
    let clock = try ServerClock(directory)
    let records = SyncService(
      storage: storage, limits: limits, serverUuid: directory.serverUuid, log: log,
      environment: environment, isPresigned: settings.objectStore != nil, storingTime: { clock.storing(at: $0) })
    let objects = settings.objectStore.map { store in
      ObjectFiles(
        store: store, database: { try files.database($0) }, log: log, environment: environment,
        scratch: { "\(settings.folder.path)/accounts/\($0.folder)" })
    }
    let fileService = FileService(
      storage: files, inUse: inUse,
      claims: { account, content in try await storage.read(account) { try $0.claims(on: content) } },
      limits: limits.files,
      sessions: sessions, log: log, environment: environment,
      objects: objects, publicURL: settings.publicURL)
    let router = Router(
      routes: records.routes + fileService.routes, log: log, user: { try directory.member(token: $0) },
      authorize: SyncService.authorize, problem: { HTTPProblem(ofMachine: $0) })
    http = try HTTPServer(
      listen: settings.listen, identity: settings.identity, limits: limits.http, log: log,
      clock: environment.clock,
      handlers: HTTPServer.Handlers(
        admit: { router.admit($0) }, respond: { await router.respond(to: $0) },
        isValid: { caller in
          guard let member = caller as? Member else { return false }
          do {
            return try directory.isValid(member)
          } catch {
            // If the result cannot be determined, the request continues.
            log.failure("cannot look up a token: \(error)")
            return true
          }
        }))
    url = (settings.identity == nil ? "http://" : "https://") + http.address
    let retention = Retention(
      days: settings.retentionDays, storage: storage, files: files, objects: objects, inUse: inUse,
      directory: directory,
      log: log)
    housekeeping = Task { await retention.run(clock) }
  }

  /// Uses another certificate from now on, for example after its files were renewed. Requests in flight finish.
  /// - Throws: ``HTTPServerError`` with `badCertificate`. The old certificate stays in use in this case.
  public func replace(_ identity: TLSIdentity) throws(HTTPServerError) { try http.replace(identity) }

  /// The memory of bodies, in bytes.
  package var bodyMemory: Int { http.memory.total }
  /// The number of requests in flight.
  package var requestCount: Int { http.requestCount }

  /// Refuses new connections, finishes requests in flight, ends long polls at once, and closes the databases.
  public func stop() async {
    housekeeping.cancel()
    storage.stopWaiting()
    await http.stop()
    await housekeeping.value
    await sessions.waitForAll(atMost: stopTime)
    files.close()
    storage.close()
    directory.close()
    hold.withLock { $0 = nil }
  }
}
