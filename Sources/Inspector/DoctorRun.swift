import CipherSQL
import Platform
import VaultStore

/// The check of a vault that runs beside the pages: at most one at a time, with its step and the last result.
final class DoctorRun: Sendable {
  /// The state of the check.
  struct State: Sendable {
    /// The step that is under way; `nil` if no check runs.
    var step: String?
    var isCancelled = false
    /// The result of the last check of this page. Results with damage are not stored in the vault.
    var last: StoredDiagnosis?
    /// The reason why the last check ended without a result.
    var problem: String?
  }

  private struct Cancelled: Error {}

  private let vault: Vault
  private let schemas: [Schema]
  private let current = Locked(State())

  init(_ vault: Vault, _ schemas: [Schema]) { (self.vault, self.schemas) = (vault, schemas) }

  var state: State { current.withLock { $0 } }

  /// Returns the latest result, of this page or of another program.
  func last() throws -> StoredDiagnosis? {
    guard let stored = try vault.lastDiagnosis() else { return state.last }
    return state.last.map { $0.endedAt >= stored.endedAt ? $0 : stored } ?? stored
  }

  /// Starts a check, unless one runs.
  func start() {
    let isFirst = current.withLock { state in
      guard state.step == nil else { return false }
      (state.step, state.isCancelled, state.problem) = ("Starting", false, nil)
      return true
    }
    guard isFirst else { return }
    startTask { await offload { self.run() } }
  }

  /// Ends the check before its next step.
  func cancel() { current.withLock { $0.isCancelled = true } }

  private func run() {
    let result = Result { try vault.examine(schemas: schemas) { try self.begin($0) } }
    current.withLock { state in
      state.step = nil
      switch result {
      case .success(let diagnosis):
        state.last = StoredDiagnosis(diagnosis: diagnosis, endedAt: vault.environment.now)
      case .failure(let error): state.problem = error is Cancelled ? "The check was cancelled." : "\(error)"
      }
    }
  }

  private func begin(_ step: String) throws {
    let isCancelled = current.withLock { state in
      state.step = step
      return state.isCancelled
    }
    if isCancelled { throw Cancelled() }
  }
}
