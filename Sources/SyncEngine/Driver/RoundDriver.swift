import CipherSQL
import HTTPClient
import VaultStore
import SyncModel

/// Performs the effects of a round: requests with a remote, transactions with a vault, waits with a clock.
struct RoundDriver: Sendable {
  let vault: Vault
  let remote: any Remote
  let clock: Clock
  let tell: @Sendable (SyncEvent) -> Void

  /// The result of an effect. The round receives the text of an error, and the caller the error itself.
  private struct Outcome: Sendable {
    let event: RoundEvent
    var error: (any Error)?
  }

  /// Performs a round to its end.
  /// - Throws: errors of this device. Errors of the server are in the report.
  func perform(_ round: Round) async throws -> Round {
    let before = remote.traffic
    var watch: Task<Void, any Error>?
    defer { watch?.cancel() }
    var error: (any Error)?
    var round = round
    await withTaskGroup(of: Outcome.self) { group in
      var effects = round.begin()
      while true {
        for effect in effects {
          switch effect {
          case .send(let request): group.addTask { Outcome(event: await send(request, since: before)) }
          case .run(let command): group.addTask { await run(command) }
          case .wait(let seconds): group.addTask { Outcome(event: await wait(seconds)) }
          case .tell(let event): tell(event)
          case .begin(let step):
            watch?.cancel()
            watch = self.watch(step)
          case .end: break
          }
        }
        guard let outcome = await group.next() else { return }
        error = error ?? outcome.error
        effects = (Task.isCancelled ? round.handle(.cancelled) : []) + round.handle(outcome.event)
      }
    }
    if round.deviceFailure != nil, let error { throw error }
    return round
  }

  private func send(_ request: RemoteRequest, since before: TransferCounts) async -> RoundEvent {
    let sentAt = clock.now()
    func facts() -> RequestFacts {
      let traffic = remote.traffic
      return RequestFacts(
        sentAt: sentAt, receivedAt: clock.now(),
        traffic: TransferCounts(
          bytesSent: traffic.bytesSent - before.bytesSent, bytesReceived: traffic.bytesReceived - before.bytesReceived))
    }
    do throws(RemoteFailure) {
      let response = try await remote.respond(to: request)
      return .responded(response, facts())
    } catch {
      return .requestFailed(error, facts())
    }
  }

  private func run(_ command: StoreCommand) async -> Outcome {
    do {
      return Outcome(event: .stored(try await StoreExecutor(vault: vault).run(command)))
    } catch is CancellationError {
      return Outcome(event: .storeCancelled)
    } catch {
      return Outcome(event: .storeFailed("\(error)"), error: error)
    }
  }

  private func wait(_ seconds: Int) async -> RoundEvent {
    do {
      try await clock.sleep(.seconds(seconds))
      return .waited
    } catch {
      return .cancelled
    }
  }

  private func watch(_ step: RoundStep) -> Task<Void, any Error>? {
    step.slowSeconds.map { seconds in
      startTask { [vault, clock] in
        try await clock.sleep(.seconds(seconds))
        try await vault.sync { try $0.noteSlow(step: step.name) }
      }
    }
  }
}

extension Remote {
  /// Sends a request of a round.
  func respond(to request: RemoteRequest) async throws(RemoteFailure) -> RemoteResponse {
    switch request {
    case .account: .account(try await account())
    case .changes(let cursor, let limit, let projects):
      .changes(try await changes(cursor: cursor, limit: limit, projects: projects))
    case .push(let request): .pushed(try await push(request))
    case .entityDigests(let projects): .entityDigests(try await digests(projects: projects))
    case .bucketDigests(let type, let projects):
      .bucketDigests(try await digests(entityType: type, projects: projects))
    case .recordDigests(let type, let buckets, let projects):
      .recordDigests(try await digests(entityType: type, buckets: buckets, projects: projects))
    case .records(let type, let uuids, let epoch):
      .records(try await records(entityType: type, uuids: uuids, epoch: epoch))
    }
  }
}
