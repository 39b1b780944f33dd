import Foundation
import Platform
import SchemaModel
import TestSupport
import Testing

@testable import VaultStore

@Suite struct VaultLockTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/lock" }

  init() throws { folder = try TemporaryFolder() }

  @Test("Opening waits for a lock that is released in a moment, such as a copy in a child process")
  func shortWait() throws {
    let held = Locked<VaultLock?>(try VaultLock(path: path, mode: .exclusive))
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: 0.05)
      held.withLock { $0 = nil }
    }
    let lock = try VaultLock(path: path, mode: .shared)
    #expect(throws: VaultError.self) { try VaultLock(path: path, mode: .exclusive) }
    withExtendedLifetime(lock) {}
  }

  @Test("A lock that stays held is refused as busy")
  func held() throws {
    let lock = try VaultLock(path: path, mode: .exclusive)
    let error = #expect(throws: VaultError.self) { try VaultLock(path: path, mode: .shared) }
    #expect(error?.code == .busy)
    withExtendedLifetime(lock) {}
  }
}
