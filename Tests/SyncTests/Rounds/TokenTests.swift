import CipherSQL
import HTTPClient
import RestorationModel
import SyncModel
import Testing

@testable import SyncEngine
@testable import VaultStore

/// A worker whose token cannot be read for a while.
@Suite struct TokenTests {
  private struct Unreadable: Error {}

  @Test("A round whose token cannot be read sends nothing and does not pause the outbox, and the next round sends")
  func unreadableToken() async throws {
    let server = try LocalServer()
    let device = try await Device("ada", at: server)
    let isReadable = Locked(false)
    let token = device.token
    let transport = HTTPTransport(address: try ServerAddress(server.server.url)) {
      guard isReadable.withLock({ $0 }) else { throw Unreadable() }
      return token
    }
    let worker = SyncWorker(
      vault: device.vault, remote: FieldVaultRemote(transport: transport), monitor: NetworkMonitor(fixed: .online))
    try await device.write { _ = try $0.insert(Project(title: "House")) }
    let report = try await worker.sync()
    #expect(report.outcome == .offline && report.failure?.message == "the token could not be read on this device")
    let status = try await device.vault.database.read { try StoreStatus.read(device.vault.entities, from: $0) }
    #expect(status.pause == nil)
    #expect(try await device.values("SELECT status || retryCount FROM OfflineSyncQueue") == ["pending0"])
    isReadable.withLock { $0 = true }
    #expect(try await worker.sync().pushed == 1)
  }
}
