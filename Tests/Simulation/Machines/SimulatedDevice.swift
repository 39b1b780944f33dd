import CipherSQL
import HTTPClient
import Platform
import RESTRemote
import SyncEngine
import SyncModel
import TestSupport
import VaultKeys
import VaultStore

/// The app on its device: a vault, a worker and a person.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class SimulatedDevice: WatchedDevice, @unchecked Sendable {
  let name: String
  let machine: Machine
  /// The schema of the app, which another version replaces while the app does not run.
  var workload: Workload
  let journal = MemoryJournal()
  /// The token of the user, also while the vault has none.
  private(set) var token: String
  private(set) var isLoggedOut = false
  /// The user of the token at the server.
  var user: String
  private let network: SimulatedNetwork
  private let trace: Trace
  private var opened: Vault?
  private var worker: SyncWorker?
  private var remote: (any Remote)?
  private let monitor = NetworkMonitor(fixed: .online)
  private var tasks: [Task<Void, Never>] = []
  private let watch = SimulatedWriteMonitor()
  private var settled: Set<Int> = []
  private var random: Seeded
  private var reports: Seeded
  private let forms: UInt64
  /// How wrong the times are that its person enters, in seconds; `nil` leaves the times to the database.
  var enteredTimeError: Int?
  /// Whether the program has met a fault of its disk since its start.
  private(set) var hasMetFault = false
  /// The number of records that its person has written, each time counted. A person writes until this is ``mostWrites``.
  private(set) var writes = 0
  private let mostWrites: Int
  /// The route file of the API that the device syncs with; `nil` for a FieldVault server.
  private let routes: String?
  /// The photos of the world; `nil` if nobody takes photos.
  private let album: PhotoAlbum?
  /// A violation that a task has found.
  private(set) var violation: (any Error)?

  init(
    _ machine: Machine, _ workload: Workload, token: String, mostWrites: Int, album: PhotoAlbum?, routes: String?,
    _ network: SimulatedNetwork, _ trace: Trace, _ random: Seeded, reports: Seeded
  ) {
    (name, self.machine, self.workload, self.token) = (machine.name, machine, workload, token)
    (self.mostWrites, self.album, self.routes) = (mostWrites, album, routes)
    user = machine.name
    (self.network, self.trace, self.random, self.reports) = (network, trace, random, reports)
    forms = reports.first
  }

  var path: String { machine.root + "/job.vault" }
  var isRunning: Bool { opened != nil }

  var vault: Vault {
    guard let opened else { fatalError("the vault of \(name) is closed") }
    return opened
  }

  static let secret: UnlockSecret = {
    do { return try keyFileSecret() } catch { fatalError("\(error)") }
  }()

  /// Opens the vault and lets worker and person begin.
  /// - Parameters:
  ///   - lives: whether the person acts and the worker runs.
  ///   - hasPerson: whether the person acts.
  func start(lives: Bool, hasPerson: Bool = true) throws {
    let schema = try workload.schema().schema
    let vault = try TransactionMeter.asUser {
      try Vault.open(at: path, with: Self.secret, schemas: [schema], configuration: machine.configuration)
    }
    opened = vault
    if try vault.database.read({ try SyncSettings.value(.remoteURL, in: $0) }) == nil {
      try vault.setRemote(
        url: Self.url, token: token, routes: try routes.map { try RouteFile.routes(json: $0, for: vault) })
      try album?.choosePreferences(vault)
    } else if try !isLoggedOut && vault.remoteToken() != token {
      // The token of a restored vault may be an old one.
      try vault.setRemote(url: Self.url, token: token)
    }
    network.noteMode(of: name, isDeviceOnly: try vault.preference(.mode) == "device")
    var limits = TransportLimits()
    limits.idleSeconds = 30
    let transport = HTTPTransport(
      address: try ServerAddress(Self.url), limits: limits, clock: machine.environment.clock,
      backend: network.backend(of: name), device: { try vault.deviceId() }
    ) { try vault.remoteToken(for: Self.url) }
    let remote: any Remote =
      if let routes {
        RestRemote(transport: transport, file: try RouteFile(json: routes), vault: vault)
      } else {
        FieldVaultRemote(transport: transport)
      }
    let worker = SyncWorker(
      vault: vault, remote: remote, monitor: monitor, watchWrites: watch.start)
    (self.worker, self.remote) = (worker, remote)
    trace.note("device", "\(name) starts")
    if lives { try goOn(hasPerson: hasPerson) }
  }

  /// Lets worker and person begin, or begin again after ``rest()``.
  func goOn(hasPerson: Bool = true) throws {
    guard let worker, let opened else { throw SimulatorDefect("\(name) does not run") }
    tasks.append(machine.scheduler.start { await self.sync(worker) })
    if hasPerson { tasks.append(machine.scheduler.start { await self.live(opened) }) }
  }

  static let url = "http://127.0.0.1:1"

  /// Stores another token.
  func login(token: String) throws {
    (self.token, isLoggedOut) = (token, false)
    try vault.setRemote(url: Self.url, token: token)
    wake()
  }

  /// Removes the token from the vault.
  /// - Returns: the number of removed records.
  func logout() throws -> Int {
    isLoggedOut = true
    defer { wake() }
    return try TransactionMeter.asUser { try vault.logout() }
  }

  /// Tells the worker that the vault was written to.
  func wake() { watch.report() }

  /// Ends the program: orderly, or by a power cut.
  func stop(byPowerCut: Bool) async throws {
    guard opened != nil else { return }
    if byPowerCut { machine.cutPower() }
    await rest()
    opened?.close()
    (opened, worker, remote) = (nil, nil, nil)
    // Tasks that still have the vault end.
    try await machine.scheduler.sleep(1000)
    hasMetFault = false
    if byPowerCut { try machine.restart() }
    trace.note("device", "\(name) \(byPowerCut ? "loses power" : "stops")")
  }

  /// Ends person and worker. The vault stays open.
  func rest() async {
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
    tasks = []
    await worker?.endSaving()
  }

  /// The worker, which the app starts again after an error of the device.
  private func sync(_ worker: SyncWorker) async {
    while !Task.isCancelled {
      do {
        try await worker.run()
      } catch is CancellationError {
        return
      } catch {
        trace.note("worker", "\(name) ends")
        notice(error)
      }
      do { try await machine.scheduler.sleep(2_000_000) } catch { return }
    }
  }

  private func live(_ vault: Vault) async {
    let first = journal.next
    var person = person(random.next())
    var decisions = Decisions(
      vault: vault, journal: journal, name: name, random: Seeded(random.next()), transaction: first)
    var photographer = album?.photographer(vault, workload, journal, machine)
    while !Task.isCancelled {
      // Most often some writes in a row, now and then a long pause.
      let isBusy = writes < mostWrites && random.chance(0.9)
      let pause = isBusy ? random.number(500..<30_000) : random.number(100_000..<30_000_000)
      do { try await machine.scheduler.sleep(Int64(pause)) } catch { return }
      do {
        if reports.chance(0.001) {
          try person.readReport(&reports)
          trace.tally("report")
        }
        if reports.chance(0.02) { try person.readStatus() }
        if reports.chance(0.04) {
          try await useLibrary(&person)
          decisions.transaction = person.transaction
        } else if let transaction = try TransactionMeter.asUser({ try photographer?.act(after: person.transaction) }) {
          (person.transaction, decisions.transaction) = (transaction, transaction)
          trace.note("photo", "\(name) \(transaction)")
        } else if writes < mostWrites, random.chance(0.9) {
          try TransactionMeter.asUser { try person.write() }
          writes += journal.acknowledgedWrites(in: person.transaction)
          decisions.transaction = person.transaction
          trace.note("write", "\(name) \(person.transaction)")
        } else {
          try TransactionMeter.asUser { try decisions.decideAny(&random) }
          person.transaction = decisions.transaction
          trace.note("decision", "\(name) \(decisions.transaction)")
        }
        watch.report()
      } catch {
        notice(error)
        // A transaction that failed is not acknowledged under the number of the next one.
        let last = max(person.transaction, decisions.transaction, photographer?.photographer.transaction ?? 0)
        (person.transaction, decisions.transaction) = (last, last)
      }
    }
  }

  /// Lets the app of the user call the library: to save a form, to restore a deleted record, or to remove its row.
  private func useLibrary(_ person: inout Person) async throws {
    guard let worker else { return }
    let result: String
    switch reports.number(0..<10) {
    case 0..<4:
      guard writes < mostWrites else { return }
      let outcome = try await person.save(by: worker, within: .milliseconds(reports.number(50..<20_000)))
      writes += journal.acknowledgedWrites(in: person.transaction)
      result =
        switch outcome {
        case .sent: "a form is sent"
        case .savedOffline: "a form is sent later"
        case .refused: "a form is refused"
        case .conflict: "a form is in conflict"
        case nil: "a form has nothing to save"
        }
    case 4:
      // Another program on the device, such as the command line.
      guard let opened, let remote else { return }
      let other = SyncWorker(
        vault: opened, remote: remote, monitor: monitor, watchWrites: SimulatedWriteMonitor().start)
      result = try await Self.outcome { try await other.syncBeside(timeout: .seconds(reports.number(1..<60))) }
    case 5..<8:
      let deleted = journal.entries.filter { $0.kind == .delete }
      guard !deleted.isEmpty else { return }
      let entry = reports.pick(deleted)
      guard let kind = workload.kind(entry.entity) else { return }
      let isRestored = try await person.restore(kind, entry.uuid, by: worker)
      result = isRestored ? "a record is restored" : "a record cannot be restored"
      trace.detail("\(name) restores \(entry.entity) \(entry.uuid)")
    default:
      let isRemoved = try TransactionMeter.asUser { try person.purge(workload.random(&reports)) }
      result = isRemoved ? "a row is removed" : "a row cannot be removed"
    }
    trace.note("library", "\(name) \(person.transaction): \(result)")
    trace.tally("library: \(result)")
  }

  private static func outcome(of round: () async throws -> SyncReport) async throws -> String {
    do {
      return "another program syncs: \(try await round().outcome)"
    } catch let error where error is SyncRefused || error is CancellationError {
      return "another program cannot sync"
    }
  }

  /// Looks at an error that the person or the worker has met.
  private func notice(_ error: any Error) {
    trace.note("error", "\(name) meets an error")
    if machine.hasFailed || machine.isOff {
      hasMetFault = true
      return
    }
    if violation == nil { violation = error is Violation ? error : Violation(5, "\(name) meets an error: \(error)") }
  }

  // MARK: Checks

  func entries() throws -> (entries: [Journal.Entry], acknowledged: Set<Int>) {
    (journal.entries, journal.acknowledged)
  }

  func isSettled(_ index: Int) -> Bool { settled.contains(index) }

  func settle(_ index: Int) { settled.insert(index) }

  func round(_ request: RoundRequest) async throws -> SyncReport {
    guard let worker else { throw SimulatorDefect("\(name) does not run") }
    network.beginRound(of: name)
    return try await worker.sync(request)
  }

  /// The row, the operations and the conflicts of a record, as a text.
  func state(of uuid: String) throws -> String {
    try read { connection in
      var lines: [String] = []
      for (type, table) in vault.syncCatalog.tables {
        guard let record = try table.find(uuid, in: connection) else { continue }
        lines.append(
          "\(type) version \(record.state.syncVersion) \(record.syncStatus)\(record.isDirty ? " dirty" : "")"
            + "\(record.state.isDeleted ? " deleted" : "") \(SyncValue.object(record.state.fields).json)")
      }
      lines += try connection.fetch(
        """
        SELECT 'operation ' || queueNumber || ' ' || operationType || ' ' || status
          || coalesce(' behind ' || parkedBehind, '') || CASE WHEN payload IS NULL THEN '' ELSE ' sealed' END
        FROM OfflineSyncQueue WHERE entityUuid = \(uuid) AND completedAt IS NULL
        UNION ALL SELECT 'conflict ' || conflictType || ' ' || coalesce(resolution, 'open')
        FROM OfflineConflictResolution WHERE entityUuid = \(uuid)
        UNION ALL SELECT 'inbox ' || reason FROM SyncInbox WHERE entityUuid = \(uuid)
        """, as: String.self)
      return lines.joined(separator: ", ")
    }
  }

  /// The digests of the server.
  func digests() async throws -> EntityDigests {
    guard let remote else { throw SimulatorDefect("\(name) does not run") }
    return try await remote.digests(projects: [])
  }

  /// Sends operations without the store.
  func push(_ request: PushRequest) async throws -> PushResponse {
    guard let remote else { throw SimulatorDefect("\(name) does not run") }
    return try await remote.push(request)
  }

  func mustCompare(_ photo: String) -> Bool { album?.compared.insert(photo).inserted ?? false }

  /// A later time was written before the clock was set back. The device sends such an operation at once.
  private static let longestWait: Int64 = 60_000

  func awaitRetries() async throws {
    let due = try read { connection in
      try connection.fetchOne(
        """
        SELECT max(CAST(unixepoch(scheduledAt, 'subsec') * 1000 AS INTEGER)) FROM OfflineSyncQueue
        WHERE completedAt IS NULL AND status = 'pending'
          AND CAST(unixepoch(scheduledAt, 'subsec') * 1000 AS INTEGER) <= \(machine.wall + Self.longestWait)
        """, as: Int64?.self)
    }
    guard let due = due ?? nil, due >= machine.wall else { return }
    trace.tally("wait for a retry")
    try await machine.scheduler.sleep((due - machine.wall + 2) * 1000)
  }

  func pause() async throws { try await machine.scheduler.sleep(50_000) }

  /// The person who writes on this device.
  func person(_ seed: UInt64) -> Person {
    var person = Person(
      vault: vault, workload: workload, journal: journal, name: name, clockError: enteredTimeError, forms: forms,
      random: Seeded(seed), transaction: journal.next)
    person.executes = { [trace, name] statement in trace.detail("\(name): \(statement)") }
    return person
  }

  func decisions(_ seed: UInt64) throws -> Decisions {
    Decisions(
      vault: vault, journal: journal, name: name, random: Seeded(seed), transaction: journal.next)
  }
}

/// The journal of a simulated device. It survives all crashes.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class MemoryJournal: Recorder, @unchecked Sendable {
  private(set) var entries: [Journal.Entry] = []
  private(set) var acknowledged: Set<Int> = []

  /// The number of the next transaction.
  var next: Int { (entries.last?.transaction ?? 0) + 1 }

  /// The number of records that a transaction has written; 0 for one that was refused.
  func acknowledgedWrites(in transaction: Int) -> Int {
    guard acknowledged.contains(transaction) else { return 0 }
    return entries.reversed().prefix { $0.transaction == transaction }.count
  }

  func intend(_ transaction: Int, _ entries: [Journal.Entry]) { self.entries += entries }

  func acknowledge(_ transaction: Int) { acknowledged.insert(transaction) }
}

/// Reports writes in place of the operating system.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class SimulatedWriteMonitor: WriteMonitor, @unchecked Sendable {
  private var wrote: (@Sendable () -> Void)?

  @Sendable func start(_ database: String, _ wrote: @escaping @Sendable () -> Void) -> any WriteMonitor {
    self.wrote = wrote
    return self
  }

  func stop() { wrote = nil }

  func report() { wrote?() }
}
