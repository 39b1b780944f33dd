import FileServer
import HTTPServer
import Platform
import PostgresStorage
import SQLCipherStorage
import ServerStorage

/// Removes the data of accounts whose deletion has begun.
///
/// The directory stores that a deletion has begun, so another process continues after a crash. Each step can be repeated.
public final class AccountDeletions: Sendable {
  private struct State {
    var isAsked = false
    var pause: Task<Void, any Error>?
  }

  private let directory: any AccountDirectory
  private let objects: any ObjectDatabase
  /// The files in an object store; `nil` for a process without one, which leaves objects to a server that has it.
  private let store: ObjectFiles?
  private let clock: Clock
  private let log: RequestLog
  /// The files of a folder that only a command uses; `nil` in a server.
  private let files: DiskFileStorage?
  private let state = Locked(State())

  /// The time between two looks for deletions that another process has begun, or that wait for an object.
  private static let interval = Duration.seconds(60)
  /// The number of files whose rows one transaction removes.
  private static let filesAtOnce = 100

  init(
    directory: any AccountDirectory, objects: any ObjectDatabase, store: ObjectFiles?, files: DiskFileStorage? = nil,
    clock: Clock, log: RequestLog
  ) {
    (self.directory, self.objects, self.store, self.clock, self.log) = (directory, objects, store, clock, log)
    self.files = files
  }

  /// Creates the deletions of a command that runs beside servers, without their object store.
  public convenience init(_ source: FieldVaultServer.Source, directory: any AccountDirectory) {
    let (clock, log) = (source.environment.clock, RequestLog.silent)
    switch source {
    case .folder(let folder):
      let files = DiskFileStorage(in: folder)
      self.init(
        directory: directory, objects: EmbeddedObjects(files), store: nil, files: files, clock: clock, log: log)
    case .database(let database, _):
      self.init(directory: directory, objects: PostgresObjects(database), store: nil, clock: clock, log: log)
    }
  }

  /// Closes the files that a command has opened.
  public func close() { files?.close() }

  /// Begins the deletion of an account.
  /// - Parameter member: the acting user; `nil` for the operator.
  /// - Returns: the account, and the contents that ``remove(_:)`` removes.
  /// - Throws: as ``AccountDirectory/beginDeletion(of:by:)``.
  public func begin(_ name: String, by member: Member?) async throws -> (
    account: AccountName, contents: AccountContents
  ) {
    let (account, rows) = try await offload { [directory] in
      let account = try directory.beginDeletion(of: name, by: member)
      return (account, try directory.contents(of: account))
    }
    var contents = rows
    contents.files = try await withoutDamage { try await self.objects.read(account) { try $0.fileCount() } } ?? 0
    return (account, contents)
  }

  /// Removes the data of an account whose deletion has begun.
  /// - Returns: whether all data are removed. Otherwise objects stay in the store until no address for their upload is valid, or
  ///   until a server with the store removes them.
  public func remove(_ account: AccountName) async throws -> Bool {
    let time = clock.now()
    try await withoutDamage {
      while try await self.objects.write(account, { try $0.removeFiles(atMost: Self.filesAtOnce) }) > 0 {
        try Task.checkCancellation()
      }
    }
    try await offload { [directory] in try directory.removeData(of: account) }
    let isWaiting = try await withoutDamage {
      try await self.store?.removeAll(account, at: time)
      return try await self.objects.read(account) { rows in
        try !rows.removals(at: .max, limit: 1).isEmpty || rows.storeMarker().isInStore
      }
    }
    if isWaiting == true { return false }
    try await offload { [directory] in try directory.finishDeletion(of: account) }
    return true
  }

  /// Runs a body that uses the tables of files. They may be gone after a crash, and a damaged account can be deleted too.
  @discardableResult
  private func withoutDamage<Result>(_ body: () async throws -> Result) async throws -> Result? {
    do {
      return try await body()
    } catch let error as ServerError where [.damaged, .deleted].contains(error.code) {
      return nil
    }
  }

  /// Removes the data of deleted accounts until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      state.withLock { $0.isAsked = false }
      await removeAll()
      let pause = startTask { [clock] in try await clock.sleep(Self.interval) }
      let isAsked = state.withLock { state in
        state.pause = pause
        return state.isAsked
      }
      if isAsked { pause.cancel() }
      await withTaskCancellationHandler {
        _ = await pause.result
      } onCancel: {
        pause.cancel()
      }
    }
  }

  /// Lets ``run()`` look for deletions now.
  func wake() {
    let pause = state.withLock { state in
      state.isAsked = true
      return state.pause
    }
    pause?.cancel()
  }

  private func removeAll() async {
    do {
      for account in try await offload({ [directory] in try directory.deletions() }) {
        do {
          _ = try await remove(account)
        } catch is CancellationError {
          return
        } catch {
          log.failure("the data of the deleted account \(account.folder) cannot be removed now: \(error)")
        }
      }
    } catch {
      log.failure("cannot look for deleted accounts: \(error)")
    }
  }
}
