import HTTPClient
import VaultStore

extension SyncWorker {
  /// Performs one round now. If another process syncs the vault, requests a round from that process and waits for its
  /// end. If that process ends first, this worker performs the round itself.
  ///
  /// The other worker performs a complete round, even if `request` leaves out some purposes.
  /// - Parameters:
  ///   - timeout: the time to wait for the other process.
  ///   - othersWork: called once if another process syncs the vault.
  /// - Throws: ``SyncRefused`` with `busy` if the other process has not completed a round in that time; the errors of
  ///   ``sync(_:)``.
  public func syncBeside(
    _ request: RoundRequest = RoundRequest(), timeout: Duration = .seconds(60), othersWork: @Sendable () -> Void = {}
  ) async throws -> SyncReport {
    if let report = try await syncUnlessBusy(request) { return report }
    try await checkSettings()
    othersWork()
    let last = try await vault.requestRound(comparingAll: request.isFull)
    let end = clock.instant() + timeout
    while clock.instant() < end {
      try await clock.sleep(.milliseconds(100))
      if let run = try await vault.endedRun(after: last) { return SyncReport(run) }
      if let report = try await syncUnlessBusy(request) { return report }
    }
    throw SyncRefused.busy
  }

  private func syncUnlessBusy(_ request: RoundRequest) async throws -> SyncReport? {
    do {
      return try await sync(request)
    } catch let refused as SyncRefused {
      guard refused == .busy else { throw refused }
      return nil
    }
  }
}

extension SyncReport {
  /// A round of another process, according to the history.
  init(_ run: SyncRunEntry) {
    self.init()
    pushed = run.pushed
    merged = run.merged
    conflicts = run.conflicts
    failed = run.failed
    pulled = run.pulled
    repaired = run.repaired
    bytesSent = run.bytesSent
    bytesReceived = run.bytesReceived
    outcome = RoundOutcome(rawValue: run.outcome) ?? .failed
    // A round that was done notes the problems of lists there, which the status has, too.
    guard outcome != .done, let message = run.errorMessage else { return }
    let responseClass: ResponseClass =
      switch outcome {
      case .paused: .pauseCredentials
      case .cancelled: .cancelled
      case .failed: .refused
      case .done, .offline: .unreachable
      }
    failure = RemoteFailure(responseClass, message: message, hint: "")
  }
}
