import HTTPClient
import VaultStore

/// Transfers attachments, a few at a time, with lower priority than records: before each part a sync round may run.
package struct TransferQueue {
  let vault: Vault
  let files: any FileRemote
  let network: any TransferNetwork
  let tell: @Sendable (FileEvent) -> Void
  /// Returns when no sync round is running.
  let letDataGoFirst: @Sendable () async -> Void
  /// The purposes of the run.
  package var uploads = true
  package var downloads = true
  package var report = FileReport()
  /// Files that are due until this time are transferred, in milliseconds since 1970.
  private var begun: Int64 = 0
  var link = FileServerState()

  package init(
    vault: Vault, files: any FileRemote, network: any TransferNetwork,
    tell: @escaping @Sendable (FileEvent) -> Void, letDataGoFirst: @escaping @Sendable () async -> Void
  ) {
    (self.vault, self.files, self.network) = (vault, files, network)
    (self.tell, self.letDataGoFirst) = (tell, letDataGoFirst)
  }

  /// The result of a transfer.
  enum Verdict: Equatable {
    /// On to the next one.
    case goOn
    /// The connection or a valid token is missing, so all transfers end.
    case stop(ResponseClass, String)
  }

  /// The number of concurrent transfers. While one waits for a disk or the server, the others continue.
  private static let atOnce = 3
  /// Seconds until a file is retried whose store could not be reached. The server itself responds, so other files
  /// continue.
  static let storePause = 30

  /// Transfers files until no file is due, `isEnough` returns `true` after a file, or the server cannot be reached.
  /// - Throws: errors of this device; `CancellationError`.
  package mutating func run(until isEnough: @escaping @Sendable () async throws -> Bool = { false }) async throws {
    try await confirm()
    // Files that become due during the run belong to the next one. If all files have to wait, this run ends.
    begun = vault.environment.now
    // Most runs find no file, and such a run needs one transaction.
    guard let first = try await next(true) else { return }
    let lane = self
    report = try await withThrowingTaskGroup(of: FileReport.self) { group in
      for number in 0..<Self.atOnce {
        group.addTask {
          var part = lane
          // The kinds take turns, so that thumbnails do not wait behind the photos of a whole day.
          try await part.moveOneByOne(number == 0 ? first : part.next(number != 1), isEnough)
          return part.report
        }
      }
      return try await group.reduce(into: FileReport()) { $0.add($1) }
    }
  }

  private mutating func moveOneByOne(
    _ first: FileTransfer?, _ isEnough: @Sendable () async throws -> Bool
  ) async throws {
    var following = first
    while let transfer = following {
      await letDataGoFirst()
      let verdict: Verdict
      do {
        try Task.checkCancellation()
        verdict = transfer.direction == .upload ? try await send(transfer) : try await fetch(transfer)
      } catch {
        try await store { try $0.transferInterrupted(transfer) }
        throw error
      }
      if case .stop(let responseClass, let message) = verdict {
        network.report(responseClass)
        report.obstacle = (responseClass, message)
        return
      }
      if try await isEnough() { return }
      following = try await next(transfer.direction == .download)
    }
  }

  private func next(_ isUploadNext: Bool) async throws -> FileTransfer? {
    guard !network.isOffline else { return nil }
    let (uploads, downloads, isUnmetered) = (uploads, downloads, network.isUnmetered)
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

  /// Stores the result of a transfer, also after a cancellation. Otherwise the transfer would stay in the state
  /// running.
  func store(_ body: @escaping @Sendable (SyncTransaction) throws -> Void) async throws {
    let vault = vault
    try await uncancelled { try await vault.sync(body) }
  }

  // MARK: What a file comes to that is not where it was to go

  /// Returns the class of a failure that ends all transfers: the token is not valid, or the server was not reached.
  static func responseClass(of failure: TransportFailure) -> ResponseClass {
    ResponseClass(failure) == .pauseCredentials ? .pauseCredentials : .unreachable
  }

  /// The transfer resumes here after this many seconds. No attempt is counted.
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
    let jitter = vault.environment.jitter()
    try await store { try $0.transferFailed(transfer, message, jitter: jitter) }
    report.failed += 1
    return .goOn
  }

  /// Records a refused transfer. An early retry would fail again.
  mutating func refused(_ transfer: FileTransfer, _ message: String) async throws -> Verdict {
    let jitter = vault.environment.jitter()
    try await store { try $0.transferRefused(transfer, message, jitter: jitter) }
    report.failed += 1
    return .goOn
  }
}

/// The results of a run.
package struct FileReport {
  package var sent = 0
  package var fetched = 0
  /// Files whose last attempt failed. They are retried automatically.
  package var failed = 0
  /// The reason why the run ended early.
  package var obstacle: (responseClass: ResponseClass, message: String)?

  mutating func add(_ other: FileReport) {
    sent += other.sent
    fetched += other.fetched
    failed += other.failed
    obstacle = obstacle ?? other.obstacle
  }
}
