import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Rounds that are cancelled at a random moment, as when the user closes the app.
@Suite struct CancellingTests {
  @Test("A cancelled round fails only with CancellationError, and a later round sends everything")
  func aCancelledRoundEndsAsCancelledAndTheNextGoesOn() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    var random = Seeded(7)
    for step in 0..<150 {
      try await one.write { db in
        let project = try db.insert(Project(title: "House \(step)"))
        for _ in 0..<5 { try db.insert(Room(projectId: project.projectId, title: "Room")) }
      }
      let isRunning = step % 2 == 0
      let task = Task {
        if isRunning { try await one.worker.run() } else { _ = try await one.worker.sync() }
      }
      try await Task.sleep(for: .microseconds(Int.random(in: 0..<30_000, using: &random)))
      task.cancel()
      do {
        try await task.value
      } catch is CancellationError {
        continue
      } catch {
        Issue.record("step \(step): \(error)")
      }
    }
    #expect(try await one.sync().outcome == .done)
    #expect(try await one.value("SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Int.self) == 0)
  }
}
