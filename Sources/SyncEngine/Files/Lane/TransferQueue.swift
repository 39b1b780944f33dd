import OfflineStore

/// Moves photos and files, a few at a time and below the data: before each part it lets a round of sync go first.
struct TransferQueue {
  let vault: Vault
  let files: any FileRemote
  let monitor: NetworkMonitor
  let jitter: @Sendable () -> Double
  let tell: @Sendable (SyncEvent) -> Void
  /// Returns when no round of sync is under way.
  let letDataGoFirst: @Sendable () async -> Void
  /// What is to be moved.
  var uploads = true
  var downloads = true
  var report = FileReport()
  /// What is due by then is moved, in milliseconds since 1970.
  private var begun: Int64 = 0
  var link = FileServerState()

  init(
    vault: Vault, files: any FileRemote, monitor: NetworkMonitor, jitter: @escaping @Sendable () -> Double,
    tell: @escaping @Sendable (SyncEvent) -> Void, letDataGoFirst: @escaping @Sendable () async -> Void
  ) {
    (self.vault, self.files, self.monitor) = (vault, files, monitor)
    (self.jitter, self.tell, self.letDataGoFirst) = (jitter, tell, letDataGoFirst)
  }

  /// What became of a file.
  enum Verdict: Equatable {
    /// On to the next one.
    case goOn
    /// No more for now: there is no connection, or no valid token.
    case stop(ResponseClass, String)
  }

  /// So many at a time: while one waits for a disk, here or there, others are on their way.
  private static let atOnce = 3
  /// Seconds until a file is tried again whose store was not reached, here or there. The server is there, so the others go
  /// on.
  static let storePause = 30

  /// Moves files until none is due, `isEnough` says so after a file, or the server cannot be reached.
  /// - Throws: what goes wrong on this device; `CancellationError`.
  mutating func run(until isEnough: @escaping @Sendable () async throws -> Bool = { false }) async throws {
    try await confirm()
    // What becomes due on the way is the next lane's: where all have to wait, this one ends.
    begun = Vault.now
    let lane = self
    report = try await withThrowingTaskGroup(of: FileReport.self) { group in
      for number in 0..<Self.atOnce {
        group.addTask {
          var part = lane
          // Turns are taken, so that thumbnails do not wait behind a day's photos that are sent.
          try await part.moveOneByOne(isUploadNext: number != 1, isEnough)
          return part.report
        }
      }
      return try await group.reduce(into: FileReport()) { $0.add($1) }
    }
  }

  private mutating func moveOneByOne(
    isUploadNext: Bool, _ isEnough: @Sendable () async throws -> Bool
  ) async throws {
    var isUploadNext = isUploadNext
    while let transfer = try await next(isUploadNext) {
      isUploadNext = transfer.direction == .download
      await letDataGoFirst()
      let verdict: Verdict
      do {
        try Task.checkCancellation()
        verdict = transfer.direction == .upload ? try await send(transfer) : try await fetch(transfer)
      } catch {
        try await store { try $0.transferInterrupted(transfer) }
        throw error
      }
      if case .stop(let answer, let message) = verdict {
        monitor.report(answer)
        report.obstacle = (answer, message)
        return
      }
      if try await isEnough() { return }
    }
  }

  private func next(_ isUploadNext: Bool) async throws -> FileTransfer? {
    guard monitor.state != .offline else { return nil }
    let (uploads, downloads, isUnmetered) = (uploads, downloads, monitor.isUnmetered)
    let (free, begun) = (try vault.bytesFreeForFiles(), begun)
    return try await vault.sync { transaction in
      let settings = try AttachmentSettings.read(from: transaction.connection)
      if settings.waitsForUnmetered, !isUnmetered { return nil }
      func upload() throws -> FileTransfer? { uploads ? try transaction.nextUpload(dueBy: begun) : nil }
      func download() throws -> FileTransfer? {
        downloads ? try transaction.nextDownload(free: free, dueBy: begun) : nil
      }
      return isUploadNext ? try upload() ?? download() : try download() ?? upload()
    }
  }

  /// Writes down what became of a file, also when the task was cancelled: what is under way would stay so otherwise.
  func store(_ body: @escaping @Sendable (SyncTransaction) throws -> Void) async throws {
    let vault = vault
    try await Task.detached { try await vault.sync(body) }.value
  }

  // MARK: What a file comes to that is not where it was to go

  /// Nobody is to blame: it goes on from here, after so many seconds.
  func interrupted(
    _ transfer: FileTransfer, waiting seconds: Int = 0, _ verdict: Verdict
  ) async throws -> Verdict {
    try await store { try $0.transferInterrupted(transfer, waiting: Int64(seconds) * 1000) }
    return verdict
  }

  /// This device is to blame, such as its disk: no attempt is lost, however long that lasts.
  func waits(_ transfer: FileTransfer, _ message: String) async throws -> Verdict {
    try await store {
      try $0.transferInterrupted(transfer, waiting: Int64(Self.storePause) * 1000, message: message)
    }
    return .goOn
  }

  /// An attempt failed; the next one comes within seconds.
  mutating func failed(_ transfer: FileTransfer, _ message: String) async throws -> Verdict {
    let jitter = jitter()
    try await store { try $0.transferFailed(transfer, message, jitter: jitter) }
    report.failed += 1
    return .goOn
  }

  /// It is of no use to try it again soon.
  mutating func refused(_ transfer: FileTransfer, _ message: String) async throws -> Verdict {
    let jitter = jitter()
    try await store { try $0.transferRefused(transfer, message, jitter: jitter) }
    report.failed += 1
    return .goOn
  }
}

/// What a lane has moved.
struct FileReport {
  var sent = 0
  var fetched = 0
  /// Whose last attempt failed; they are tried again by themselves.
  var failed = 0
  /// What ended it before it was through.
  var obstacle: (answer: ResponseClass, message: String)?

  mutating func add(_ other: FileReport) {
    sent += other.sent
    fetched += other.fetched
    failed += other.failed
    obstacle = obstacle ?? other.obstacle
  }
}
