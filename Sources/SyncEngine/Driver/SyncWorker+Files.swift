import HTTPClient
import FileTransfers
import VaultStore

/// The lane of photos and files, below that of the data.
extension SyncWorker {
  /// Transfers the files that are due, after a manual round.
  /// - Parameter request: a request without pull downloads nothing, and one without push uploads nothing.
  func moveFiles(_ request: RoundRequest, adding report: inout SyncReport) async throws {
    guard var lane = try await lane(request) else { return }
    // Records that the user writes in the meantime do not wait for files.
    try await lane.run { try await self.hasDataToSend(request) }
    report.add(lane.report)
  }

  /// Downloads the wanted files without a sync round, until enough files are present or no more can be downloaded.
  /// - Parameters:
  ///   - timeout: the time to wait for another process that syncs the vault and may download them.
  ///   - isEnough: called before the first file and after each one.
  /// - Returns: the results, with the reason why a transfer stopped.
  /// - Throws: ``SyncRefused``.
  public func fetchFiles(
    timeout: Duration = .seconds(60), until isEnough: @escaping @Sendable () async throws -> Bool
  ) async throws -> SyncReport {
    try await checkSettings()
    var report = SyncReport()
    var lock = try SyncLock(of: vault.layout)
    let end = clock.instant() + timeout
    while lock == nil {
      if try await isEnough() { return report }
      guard clock.instant() < end else { throw SyncRefused.busy }
      try await clock.sleep(.milliseconds(100))
      lock = try SyncLock(of: vault.layout)
    }
    defer { withExtendedLifetime(lock) {} }
    guard try await !isEnough(), var lane = try await lane(RoundRequest(pushes: false)) else { return report }
    try await lane.run(until: isEnough)
    report.add(lane.report)
    return report
  }

  /// Whether the outbox has something to send.
  func hasDataToSend(_ request: RoundRequest) async throws -> Bool {
    guard request.pushes else { return false }
    return try await vault.database.read { try Outbox.hasReady(in: $0) }
  }

  /// Performs the effects of a file schedule. Ends when the task is cancelled.
  func followFiles(_ request: RoundRequest, _ signals: AsyncStream<Void>) async throws {
    var schedule = FileSchedule()
    var waiting = signals.makeAsyncIterator()
    var event = FileSchedule.Event.started
    while !Task.isCancelled {
      switch schedule.handle(event, now: clock.now()) {
      case .transfer: event = try await transfer(request)
      case .wait(let time):
        let timer = startTimer(time) { [fileSignals] in fileSignals.tell(()) }
        guard await Self.next(of: &waiting, timer) != nil else { return }
        event = .signalled
      }
    }
  }

  private func transfer(_ request: RoundRequest) async throws -> FileSchedule.Event {
    guard var lane = try await lane(request) else { return .refused }
    let begun = clock.now()
    try await lane.run()
    tellOfFiles(lane.report)
    guard lane.report.obstacle == nil else { return .ended(nextDue: nil) }
    // One that became due when the lane had looked for the last time counts as well.
    return .ended(nextDue: try await vault.sync { try $0.nextTransferDue(after: begun) })
  }

  private func lane(_ request: RoundRequest) async throws -> TransferQueue? {
    guard let files = remote.files, try await mayUseNetwork() else { return nil }
    // One queue transfers at a time, so a running transfer belongs to a process that died.
    try await vault.sync { try $0.recoverTransfers() }
    var lane = TransferQueue(
      vault: vault, files: files, network: monitor,
      tell: { [weak self] event in self?.tell(SyncEvent(event)) },
      letDataGoFirst: { [weak self] in await self?.letRoundEnd() })
    (lane.uploads, lane.downloads) = (request.pushes, request.pulls)
    return lane
  }

  /// Returns when no round is running.
  private func letRoundEnd() async {
    let ends = roundEnds
    while isInRound, !Task.isCancelled { await Self.next(of: ends) }
  }

  private func tellOfFiles(_ files: FileReport) {
    guard files.sent + files.fetched + files.failed > 0 else { return }
    var report = SyncReport()
    report.add(files)
    tell(.filesMoved(report))
  }
}

extension SyncEvent {
  init(_ event: FileEvent) {
    switch event {
    case .progress(let progress): self = .file(progress)
    case .moved(let progress): self = .fileMoved(progress)
    }
  }
}

extension SyncReport {
  mutating func add(_ files: FileReport) {
    filesSent += files.sent
    filesFetched += files.fetched
    filesFailed += files.failed
    guard let (responseClass, message) = files.obstacle, outcome == .done else { return }
    outcome = responseClass == .pauseCredentials ? .paused : .offline
    failure = RemoteFailure(responseClass, message: message, hint: "no data is lost; the next sync continues")
  }
}
