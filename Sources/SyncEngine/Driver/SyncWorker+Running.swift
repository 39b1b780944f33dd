import CipherSQL
import VaultStore
import SyncModel

extension SyncWorker {
  /// Performs a round whenever there is a cause: a local write, also by another process; a change at the server; the
  /// return of the network; 15 minutes without a round; ``requestSync()`` and ``resume()``. Ends when the task is
  /// cancelled, and returns operations in flight to the outbox.
  /// - Parameter request: the purposes of the rounds. Only the first one compares all records.
  /// - Throws: ``SyncRefused`` with `busy` or `noRemote`; errors of this device.
  public func run(_ request: RoundRequest = RoundRequest()) async throws {
    guard let lock = try SyncLock(of: vault.layout) else { throw SyncRefused.busy }
    defer { withExtendedLifetime(lock) {} }
    let isTold = isTold
    isTold.withLock { $0 = false }
    let (told, toldOfFiles) = (signals.events(), fileSignals.events())
    let watch = try DatabaseMonitor(vault.databasePath) { [signals] in
      // Many writes in a row are one reason to look.
      let isNew = isTold.withLock { told in
        defer { told = true }
        return !told
      }
      if isNew { signals.tell(.wrote) }
    }
    defer { watch.stop() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await self.followNetwork() }
      if request.pulls, remote.capabilities.watches { group.addTask { await self.followServer() } }
      group.addTask { try await self.work(request, told) }
      group.addTask { try await self.followFiles(request, toldOfFiles) }
      // An error of one task ends the others.
      while try await group.next() != nil {}
    }
    throw CancellationError()
  }

  private func work(_ wanted: RoundRequest, _ told: AsyncStream<Signal>) async throws {
    var request = wanted
    var schedule = Schedule(now: clock.now(), network: monitor.state)
    var roundRequest = try await setting(.roundRequest)
    var waiting = told.makeAsyncIterator()
    var waitsForUnmetered = false
    while !Task.isCancelled {
      if let cause = schedule.begin(now: clock.now()) {
        do {
          let report = try await round(cause, request)
          request.isFull = request.isFull && report.outcome != .done
          // A worker that only pulls does not send due operations.
          let due = request.pushes ? nextDue : nil
          schedule.ended(report.outcome, now: clock.now(), nextDue: due, jitter: vault.environment.jitter())
        } catch let refused as SyncRefused where refused == .metered || refused == .deviceOnly {
          waitsForUnmetered = refused == .metered
          schedule.ended(.paused, now: clock.now(), nextDue: nil, jitter: 0)
        }
        continue
      }
      let timer = schedule.wake(now: clock.now()).map { wake in
        Task { [clock, signals] in
          try await clock.sleep(.milliseconds(max(wake - clock.now(), 0)))
          signals.tell(.tick)
        }
      }
      defer { timer?.cancel() }
      guard let next = await waiting.next() else { return }
      switch next {
      case .tick: break
      case .want(let cause): schedule.want(cause)
      case .network:
        // Writes that the round itself has seen happened before its end.
        schedule.networkChanged(to: monitor.state)
        if waitsForUnmetered, monitor.isUnmetered {
          waitsForUnmetered = false
          schedule.goOn(.network)
        }
        tell(.network(monitor.state))
      case .wrote:
        isTold.withLock { $0 = false }
        let changes = try await pendingChanges()
        if changes.roundRequest != roundRequest {
          roundRequest = changes.roundRequest
          schedule.want(.manual)
        } else if request.pushes, changes.hasReady {
          tell(.queued)
          schedule.want(.localWrite)
        }
      }
    }
  }

  private func setting(_ name: SyncSettings.Name) async throws -> String? {
    try await vault.database.read { try SyncSettings.value(name, in: $0) }
  }

  /// Returns the changes of other connections. The system reports a write before its commit, so this waits for the
  /// writer.
  private func pendingChanges() async throws -> (roundRequest: String?, hasReady: Bool) {
    try await vault.database.write { connection in
      (try SyncSettings.value(.roundRequest, in: connection), try Outbox.hasReady(in: connection))
    }
  }

  private nonisolated func followNetwork() async {
    for await state in monitor.states {
      signals.tell(.network)
      if state == .online { fileSignals.tell(()) }
    }
  }

  /// Sends long polls: the server responds when it has changes.
  private func followServer() async {
    var failures = 0
    var empty = 0
    while !Task.isCancelled {
      let rounds = roundEnds
      do {
        guard monitor.state != .offline, try await mayUseNetwork(), let cursor = try await setting(.cursor) else {
          await Self.next(of: rounds)
          continue
        }
        let asked = clock.instant()
        let isNew = try await remote.watch(cursor: cursor, seconds: 50)
        let isQuick = asked.duration(to: clock.instant()) < .seconds(1)
        if isNew {
          if isInRound { await Self.next(of: rounds) }
          // The change was this device's own, or a round has fetched it already.
          if try await setting(.cursor) != cursor { continue }
          let following = roundEnds
          signals.tell(.want(.remoteChange))
          // Until a round has moved the cursor, the response would be the same.
          await Self.next(of: following)
        }
        failures = 0
        // A server that responds at once without changes is polled less and less often.
        let hasMoved = try await setting(.cursor) != cursor
        empty = isQuick && !hasMoved ? empty + 1 : 0
        if empty > 0 { try await clock.sleep(.seconds(min(1 << min(empty - 1, 6), 60))) }
      } catch is CancellationError {
        return
      } catch {
        // A round reports the failure and is repeated until the server responds.
        if failures == 0 { signals.tell(.want(.network)) }
        failures += 1
        do { try await clock.sleep(.seconds(min(5 << min(failures - 1, 6), 300))) } catch { return }
      }
    }
  }

  static func next(of ends: AsyncStream<Void>) async { for await _ in ends { return } }
}
