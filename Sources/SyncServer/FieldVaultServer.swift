import CipherSQL
import FileServer
import HTTPServer
import SQLCipherStorage
import ServerStorage

/// A running server: the wire format of FieldVault over HTTP, the accounts of a folder behind it.
///
/// ```swift
/// let server = try FieldVaultServer(settings)
/// print(server.url)
/// await server.stop()
/// ```
public final class FieldVaultServer: Sendable {
  /// How a server is set up. Clock and random source are those of its folder.
  public struct Settings: Sendable {
    /// Where the data are.
    public var folder: ServerFolder
    /// `HOST:PORT`; with port 0 the system chooses one.
    public var listen: String
    /// With which the server speaks TLS; plain HTTP when nil.
    public var identity: TLSIdentity?
    /// The schemas of the accounts' records.
    public var schemas: [Schema]
    /// The limits of a client.
    public var limits: ServerLimits
    /// The days for which responses and deletions are kept.
    public var retentionDays: Int
    /// Where requests are noted.
    public var log: RequestLog
    /// The address of the server as clients see it, without a trailing slash, such as `https://sync.example.org`.
    /// With it, the addresses of uploads are absolute, which some third-party tus clients require. Without it, they
    /// are paths.
    public var publicURL = ""
    /// Where devices send and fetch the contents of files; nil to keep them on the server's own disk.
    public var objectStore: ObjectStore?
    /// Where files are kept; tests put something else here.
    var fileStorage: @Sendable (ServerFolder) -> DiskFileStorage = { DiskFileStorage(in: $0) }

    /// Settings with the usual limits and a silent log.
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

  /// Where it listens, such as `http://127.0.0.1:8787`.
  public let url: String
  private let http: HTTPServer
  let storage: any RecordStorage
  let files: any FileStorage
  private let sessions: UploadSessions
  private let stopTime: Duration
  private let directory: ServerDirectory
  private let housekeeping: Task<Void, Never>
  private let hold: Locked<FolderLock?>

  /// Opens the data and begins to serve.
  /// - Throws: ``ServerError`` with `busy` when another server has the folder, or with `wrongKey`;
  ///   ``HTTPServerError``; `SQLError` for a schema that cannot be applied.
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
        admit: { router.admit($0) }, answer: { await router.answer($0) },
        isValid: { caller in
          guard let member = caller as? Member else { return false }
          do {
            return try directory.isValid(member)
          } catch {
            // If the result cannot be determined, the request continues.
            log.failure("a token could not be looked up: \(error)")
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

  /// How many bytes of bodies are counted, and how many requests are under way.
  package var bodyMemory: Int { http.memory.total }
  /// See ``bodyMemory``.
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
