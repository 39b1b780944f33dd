import Foundation
import Testing

@testable import CipherSQL

/// What the handler below uses.
private nonisolated(unsafe) var opened: (vault: TemporaryVault, database: Database)?

@Suite struct ProcessEndTests {
  /// Threads continue to run during `exit()`, after the handlers of libraries. A handler that was registered before those
  /// of libraries runs after them. Such a handler here stands for a thread.
  @Test("A database is usable until the process has ended") func exitLeavesTheDatabaseUsable() async {
    await #expect(processExitsWith: .exitCode(7)) {
      atexit {
        let log: Void? = try? opened?.database.write { try $0.execute("DELETE FROM OfflineLog") }
        opened = nil
        _exit(log == nil ? 8 : 7)
      }
      let vault = try TemporaryVault()
      opened = (vault, try vault.openHouse())
      exit(0)
    }
  }
}
