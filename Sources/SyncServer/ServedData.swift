import CipherSQL
import FileServer
import HTTPServer
import Platform
import PostgresStorage
import SQLCipherStorage
import ServerPages
import ServerStorage

/// The data of a folder with the routes that serve it: a server without a network.
package final class ServedData: Sendable {
  /// Finds the handler of a request.
  package let router: Router<Member>
  /// Finds the handler of a request to the operator's address, except for its pages.
  private let adminRouter: Router<Member>
  private let operatorSite: OperatorSite?
  private let sampler: FigureSampler
  let metrics: ServerMetrics
  let storage: any RecordStorage
  let files: any FileStorage
  private let records: SyncService
  private let fileService: FileService
  private let sessions: UploadSessions
  private let directory: any AccountDirectory
  private let retention: Retention
  private let deletions: AccountDeletions
  private let clock: ServerClock
  let log: RequestLog
  private let webhook: Webhook?
  private let contacts: Contacts
  /// The keys of the identity provider; `nil` without one.
  let providerKeys: ProviderKeys?
  /// The routes whose duration depends on the connection of the client.
  private let transferPatterns: Set<String>
  private let housekeeping = Locked<[Task<Void, Never>]>([])
  private let hold: Locked<FolderLock?>
  private let endUse: @Sendable () -> Void

  /// Opens the data.
  /// - Throws: ``ServerError`` with `busy` if another server uses the folder, or with `wrongKey`; `SQLError` for a
  ///   schema that cannot be applied.
  package init(_ settings: FieldVaultServer.Settings) throws {
    let environment = settings.source.environment
    let metrics = ServerMetrics(version: settings.version, slowRequest: settings.slowRequest)
    self.metrics = metrics
    let log = settings.log.timed(by: environment.clock) { metrics.countFailure() }
    self.log = log
    let parts = try Parts(settings, metrics, log)
    let (directory, storage, files) = (parts.directory, parts.storage, parts.files)
    (self.directory, self.storage, self.files, hold) = (directory, storage, files, Locked(parts.hold))
    endUse = parts.endUse
    webhook = parts.webhook
    let limits = settings.limits
    sessions = UploadSessions(limit: limits.files.uploadsAtOnce, clock: environment.clock)
    let inUse = { @Sendable (account: AccountName, contents: [String]) in
      try await storage.flushFailedCommits(account)
      return try await storage.read(account) { try $0.contentsInUse(among: contents) }
    }
    let clock = try ServerClock(directory, environment.clock)
    self.clock = clock
    let contacts = Contacts(directory, environment.clock, log)
    self.contacts = contacts
    records = SyncService(
      storage: storage, limits: limits, serverUuid: directory.serverUuid, log: log,
      environment: environment, isPresigned: settings.objectStore != nil, storingTime: { clock.storing(at: $0) },
      counted: { metrics.count($0) }, contacts: contacts)
    let objects = settings.objectStore.map { store in
      ObjectFiles(
        store: store, database: parts.objects, log: log, environment: environment, scratch: parts.scratch)
    }
    fileService = FileService(
      storage: files, inUse: inUse,
      claims: { account, content in try await storage.read(account) { try $0.claims(on: content) } },
      hidden: { [records] in try await records.hiddenContents(among: $1, from: $0) },
      limits: limits.files,
      sessions: sessions, log: log, environment: environment,
      objects: objects, publicURL: settings.publicURL)
    let deletions = AccountDeletions(
      directory: directory, objects: parts.objects, store: objects, clock: environment.clock, log: log)
    self.deletions = deletions
    let rights = AccountService(records: records, directory: directory, deletions: deletions)
    providerKeys = settings.signIn.map { ProviderKeys($0.keys, clock: environment.clock, log: log) }
    let authentication = Authentication(
      directory: directory, provider: settings.signIn?.provider, keys: providerKeys, clock: environment.clock,
      used: { contacts.note($0) })
    router = Router(
      routes: records.routes + rights.routes + fileService.routes, log: log,
      user: { try authentication.member(token: $0) },
      authorize: { member, pattern, request throws(HTTPProblem) in
        try SyncService.authorize(member, pattern, request)
        try contacts.admit(request, member)
      }, problem: { HTTPProblem(ofMachine: $0) })
    adminRouter = Router(
      routes: AdminService(metrics: metrics, records: records, log: log).routes, log: log, user: { _ in nil },
      authorize: { _, _, _ in }, problem: { HTTPProblem(ofMachine: $0) })
    sampler = FigureSampler(
      metrics, waiting: { [records] in records.waitingCount }, space: parts.space, environment.clock, log)
    let facts = OperatorFacts(
      version: settings.version, engine: parts.engine, startedAt: environment.now, directory: directory,
      storage: storage, objects: parts.objects, records: records, webhook: parts.webhook,
      quota: limits.files.quotaBytes, sampler: sampler, requestLog: log)
    operatorSite = settings.adminListen.map { OperatorSite(directory, facts, listen: $0, linkHint: settings.linkHint) }
    retention = Retention(
      days: settings.retentionDays, storage: storage, files: files, objects: objects, inUse: inUse,
      directory: directory, environment: environment, log: log, began: { metrics.beganRound(at: $0) })
    transferPatterns = Set(fileService.routes.map(\.pattern))
    metrics.add(
      storage, waiting: { [records] in records.waitingCount }, waitingLimit: { [records] in records.waitingLimit },
      retentionTime: { clock.now },
      lastBackup: { try directory.lastTime(of: .backedUp) },
      space: parts.space)
  }

  /// Decides about a request to the operator's address.
  func admitOperator(_ request: Request) -> AdmittedRequest {
    operatorSite?.has(request.path) == true ? AdmittedRequest(admission: .ignore) : adminRouter.admit(request)
  }

  /// Returns the response to a request to the operator's address.
  func respondToOperator(_ request: Request) async -> Response {
    if let operatorSite, operatorSite.has(request.path) { return await operatorSite.response(to: request) }
    return await adminRouter.respond(to: request)
  }

  /// Uses other rates and numbers of waiting requests from now on.
  func change(_ limits: ServerLimits) {
    records.change(limits)
    fileService.change(limits.files)
  }

  /// Starts the removal of old data, which runs until ``stopWaiting()``, and the calls of the webhook.
  package func startHousekeeping() {
    webhook?.start(storage)
    providerKeys?.start()
    let (retention, deletions, clock, contacts, sampler) = (retention, deletions, clock, contacts, sampler)
    housekeeping.withLock { tasks in
      tasks = [
        startTask { await retention.run(clock) }, startTask { await contacts.run() },
        startTask { await deletions.run() }, startTask { await sampler.run() },
      ]
    }
  }

  /// Counts and logs a request that has ended.
  func completed(_ request: CompletedRequest) {
    let isTransfer = request.pattern.map(transferPatterns.contains) ?? false
    let isSlow = metrics.count(request, waits: request.pattern == SyncService.watchPattern, isTransfer: isTransfer)
    log.note(request, isSlow: isSlow)
  }

  /// Returns whether the token of a running request is still valid.
  func isValid(_ caller: any Caller) -> Bool {
    guard let member = caller as? Member else { return false }
    do {
      return try directory.isValid(member)
    } catch {
      // If the result cannot be determined, the request continues.
      log.failure("cannot look up a token: \(error)")
      return true
    }
  }

  /// Ends long polls, housekeeping and the calls of the webhook.
  package func stopWaiting() {
    webhook?.close()
    providerKeys?.close()
    for task in housekeeping.withLock({ $0 }) { task.cancel() }
    storage.stopWaiting()
  }

  /// Waits for the ends of uploads and housekeeping, then closes the databases. No request may be running.
  package func close(waitingAtMost limit: Duration) async {
    for task in housekeeping.withLock({ $0 }) { await task.value }
    await offload { [contacts] in contacts.store() }
    await sessions.waitForAll(atMost: limit)
    files.close()
    storage.close()
    directory.close()
    hold.withLock { $0 = nil }
    // Tasks that are about to end may keep the folder for a moment.
    endUse()
  }
}

/// The parts of a server that depend on where its data are.
private struct Parts {
  let directory: any AccountDirectory
  let storage: any RecordStorage
  let files: any FileStorage
  let objects: any ObjectDatabase
  let webhook: Webhook?
  /// Returns the folder for a temporary copy of an account's object.
  let scratch: @Sendable (AccountName) -> String
  let space: ServerMetrics.Space
  /// The name of the storage engine.
  let engine: String
  /// Keeps other servers from using the folder.
  let hold: FolderLock?
  let endUse: @Sendable () -> Void

  init(_ settings: FieldVaultServer.Settings, _ metrics: ServerMetrics, _ log: RequestLog) throws {
    let openAccounts = settings.limits.openAccounts
    func webhook(_ directory: any AccountDirectory) -> Webhook? {
      settings.webhook.map {
        Webhook($0, serverUuid: directory.serverUuid, environment: settings.source.environment, log: log)
      }
    }
    func committed(_ webhook: Webhook?) -> @Sendable (AccountName, CommittedChanges) -> Void {
      { account, changes in
        metrics.count(changes)
        webhook?.tell(account, changes)
      }
    }
    switch settings.source {
    case .folder(let folder):
      (space, engine) = (.folder(folder.path), "SQLCipher, in a folder")
      hold = try folder.holdForServing()
      endUse = { folder.endUse() }
      let directory = try ServerDirectory(in: folder)
      let webhook = webhook(directory)
      (self.directory, self.webhook) = (directory, webhook)
      storage = try EmbeddedStorage(
        in: folder, schemas: settings.schemas, accounts: try directory.accounts(), openAccounts: openAccounts,
        committed: committed(webhook), measured: { metrics.count($0) }, log: { log.failure($0) })
      let files = settings.fileStorage(folder, openAccounts)
      (self.files, objects) = (files, EmbeddedObjects(files))
      scratch = { "\(folder.path)/accounts/\($0.folder)" }
    case .database(let database, let scratch):
      (space, engine) = (.database { try await database.size() }, "PostgreSQL")
      (hold, endUse) = (nil, {})
      let directory = PostgresDirectory(database)
      let webhook = webhook(directory)
      (self.directory, self.webhook) = (directory, webhook)
      storage = try PostgresStorage(
        database, schemas: settings.schemas, committed: committed(webhook), measured: { metrics.count($0) },
        log: { log.failure($0) })
      (files, objects) = (StoreOnlyFiles(), PostgresObjects(database))
      self.scratch = { _ in scratch }
    }
  }
}
