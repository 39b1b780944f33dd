import CipherSQL
import VaultStore
import SyncModel

extension SyncWorker {
  /// Performs a round for each cause: a local write, also by another process; a change at the server; the return of the
  /// network; 15 minutes without a round; ``requestSync()`` and ``resume()``. Ends when the task is cancelled, and
  /// returns operations in flight to the outbox.
  /// - Parameter request: the purposes of the rounds. Only the first one compares all records.
  /// - Throws: ``SyncRefused`` with `busy` or `noRemote`; errors of this device.
  public func run(_ request: RoundRequest = RoundRequest()) async throws {
    guard let lock = try SyncLock(of: vault.layout) else { throw SyncRefused.busy }
    defer { withExtendedLifetime(lock) {} }
    let isTold = isTold
    isTold.withLock { $0 = false }
    let (told, toldOfFiles) = (signals.events(), fileSignals.events())
    let watch = try watchWrites(vault.databasePath) { [signals] in
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

  /// Performs the effects of a schedule.
  private func work(_ request: RoundRequest, _ told: AsyncStream<Signal>) async throws {
    var schedule = Schedule(
      request, roundRequest: try await setting(.roundRequest), now: clock.now(), network: monitor.state)
    var waiting = told.makeAsyncIterator()
    var event = Schedule.Event.started
    while !Task.isCancelled {
      for effect in schedule.handle(event, now: clock.now()) {
        switch effect {
        case .tell(let progress): tell(progress)
        case .begin(let cause, let request): event = try await perform(cause, request)
        case .wait(let time):
          guard let signal = await Self.next(of: &waiting, startTimer(time) { [signals] in signals.tell(.tick) })
          else { return }
          event = try await news(signal)
        }
      }
    }
  }

  private func perform(_ cause: Schedule.Cause, _ request: RoundRequest) async throws -> Schedule.Event {
    do {
      let report = try await round(cause, request)
      return .ended(
        report.outcome, failure: report.failure?.responseClass, nextDue: nextDue, jitter: vault.environment.jitter())
    } catch let refused as SyncRefused where refused == .metered || refused == .deviceOnly {
      return .refused(isMetered: refused == .metered)
    }
  }

  /// Starts a timer that signals at a time.
  nonisolated func startTimer(_ time: Int64?, _ signal: @escaping @Sendable () -> Void) -> Task<Void, any Error>? {
    time.map { time in
      startTask { [clock] in
        try await clock.sleep(.milliseconds(max(time - clock.now(), 0)))
        signal()
      }
    }
  }

  /// Waits for the next signal and stops the timer.
  static func next<Signal>(
    of signals: inout AsyncStream<Signal>.Iterator, _ timer: Task<Void, any Error>?
  ) async -> Signal? {
    defer { timer?.cancel() }
    return await signals.next()
  }

  private func news(_ signal: Signal) async throws -> Schedule.Event {
    switch signal {
    case .tick: return .waited
    case .want(let cause): return .requested(cause)
    case .network: return .network(monitor.state, isUnmetered: monitor.isUnmetered)
    case .wrote:
      isTold.withLock { $0 = false }
      let changes = try await pendingChanges()
      return .wrote(roundRequest: changes.roundRequest, hasReady: changes.hasReady)
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

  /// Performs the effects of the long polls.
  private func followServer() async {
    var polling = LongPolling()
    var ends = roundEnds
    var event = LongPolling.Event.started
    while !Task.isCancelled {
      do {
        for effect in polling.handle(event) {
          switch effect {
          case .look:
            ends = roundEnds
            event = .looked(try await facts())
          case .ask(let cursor, let projects, let seconds): event = try await ask(cursor, projects, seconds)
          case .request(let cause):
            ends = roundEnds
            signals.tell(.want(cause))
          case .waitForRound:
            await Self.next(of: ends)
            event = .roundEnded
          case .wait(let seconds):
            try await clock.sleep(.seconds(seconds))
            event = .waited
          }
        }
      } catch is CancellationError {
        return
      } catch {
        event = .failed
      }
    }
  }

  private func facts() async throws -> LongPolling.Facts {
    let isInRound = isInRound
    let mayAsk = monitor.state == .offline ? false : try await mayUseNetwork()
    let (cursor, projects) = try await vault.database.read { connection in
      (try SyncSettings.value(.cursor, in: connection), try SyncSettings.scopes(in: connection))
    }
    return LongPolling.Facts(cursor: cursor, projects: projects, mayAsk: mayAsk, isInRound: isInRound)
  }

  private func ask(_ cursor: String, _ projects: [String], _ seconds: Int) async throws -> LongPolling.Event {
    let asked = clock.instant()
    let deviceId = try await vault.database.read { try SyncSettings.value(.deviceId, in: $0) }
    let response = try await remote.watch(
      cursor: cursor, projects: projects, deviceId: deviceId, seconds: seconds)
    return .responded(
      isNew: response.changed, isQuick: asked.duration(to: clock.instant()) < .seconds(1), cursor: response.cursor)
  }

  static func next(of ends: AsyncStream<Void>) async { for await _ in ends { return } }
}
