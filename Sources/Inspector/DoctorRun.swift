import CipherSQL
import Platform
import VaultStore

/// The check of a vault that runs beside the pages: at most one at a time, with its step and the last result.
final class DoctorRun: Sendable {
  /// The state of the check.
  struct State: Sendable {
    /// The step that is under way; `nil` if no check runs.
    var step: String?
    /// The result of the last check of this page. Results with damage are not stored in the vault.
    var last: StoredDiagnosis?
    /// The reason why the last check ended without a result.
    var problem: String?
  }

  private struct Checks {
    /// The check that began last.
    var work: BackgroundWork<String, StoredDiagnosis>?
    /// The result of the check before it.
    var last: StoredDiagnosis?
  }

  private let vault: Vault
  private let schemas: [Schema]
  private let current = Locked(Checks())

  init(_ vault: Vault, _ schemas: [Schema]) { (self.vault, self.schemas) = (vault, schemas) }

  var state: State { current.withLock { Self.state(of: $0) } }

  private static func state(of checks: Checks) -> State {
    guard let work = checks.work else { return State(last: checks.last) }
    switch work.result {
    case nil: return State(step: work.progress, last: checks.last)
    case .success(let last): return State(last: last)
    case .failure(let error):
      return State(
        last: checks.last, problem: error is CancellationError ? "The check was cancelled." : "\(error)")
    }
  }

  /// Returns the latest result, of this page or of another program.
  func last() throws -> StoredDiagnosis? {
    guard let stored = try vault.lastDiagnosis() else { return state.last }
    return state.last.map { $0.endedAt >= stored.endedAt ? $0 : stored } ?? stored
  }

  /// Starts a check, unless one runs.
  func start() {
    current.withLock { checks in
      let before = Self.state(of: checks)
      guard before.step == nil else { return }
      checks.last = before.last
      checks.work = BackgroundWork("Starting", vault.environment.clock) { [vault, schemas] work in
        let diagnosis = try await offload {
          try vault.examine(schemas: schemas) { step in
            if work.isCancelled { throw CancellationError() }
            work.report { $0 = step }
          }
        }
        return StoredDiagnosis(diagnosis: diagnosis, endedAt: vault.environment.now)
      }
    }
  }

  /// Ends the check before its next step.
  func cancel() { current.withLock { $0.work }?.cancel() }
}
