import CipherSQL
import Foundation
import RawNetwork
import Testing

@testable import HTTPClient
@testable import RESTRemote
@testable import SyncEngine
@testable import VaultStore

/// A REST API whose token expires during sync.
@Suite(.serialized) struct TokenRenewalRestTests {
  @Test(
    "A request to a REST API that meets an expired token is repeated alone, and creates no record twice",
    arguments: [
      ("GET", "/api/*"), ("POST", "/api/sessions"), ("POST", "/api/sessions/1/groups"),
      ("POST", "/api/groups/1/images"),
    ])
  func everyKind(method: String, path: String) async throws {
    let api = try RangeAPI()
    let device = try RangeDevice(at: api.url)
    let vault = device.vault
    let file = try RouteFile(json: try RangeAPI.routeFile())
    let network = RefusingBackend(
      CurlBackend(connectSeconds: 600, authorities: nil), method: method, path: path, token: "expired")
    let asked = Locked(0)
    let url = api.url
    let source = TokenSource(
      vault: vault, url: url,
      provider: { _ in
        asked.withLock { $0 += 1 }
        return "new-range-token"
      }, remote: { RestRemote(transport: $0, file: file, vault: vault) })
    let transport = HTTPTransport(
      address: try ServerAddress(url), limits: TransportLimits(), clock: .system, backend: network, renewal: source,
      token: { try vault.remoteToken(for: url) })
    let worker = SyncWorker(
      vault: vault, remote: RestRemote(transport: transport, file: file, vault: vault),
      monitor: NetworkMonitor(fixed: .online))
    #expect(try await worker.sync().outcome == .done)
    let session = try await device.addSession()
    let group = try await device.write { connection in
      try connection.execute(
        "INSERT INTO OfflineGroupEntry (sessionId, groupNumber, distance, numberOfShots) VALUES (\(session), 1, 100, 5)"
      )
      return connection.lastInsertedRowID
    }
    let uuid = try #require(
      try await device.value("SELECT uuid FROM OfflineGroupEntry WHERE groupEntryId = \(group)", as: UUID.self))
    let picture = device.folder.file("target.png")
    try Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 3) }).write(to: URL(fileURLWithPath: picture))
    try Self.attach(picture, to: uuid, vault)
    let report = try await worker.sync()
    #expect(report.outcome == .done && report.failed + report.filesFailed == 0, "\(String(describing: report.failure))")
    #expect(network.requests >= 2 && asked.withLock { $0 } == 1)
    for table in ["sessions", "groups", "images"] { #expect(try await api.count(table) == "[[1]]", "\(table)") }
    #expect(try await device.waiting() == 0)
    #expect(try Self.token(vault) == "new-range-token")
  }

  private static func attach(_ path: String, to uuid: UUID, _ vault: Vault) throws {
    _ = try vault.attach([path], to: vault.entities.entity("GroupEntry"), uuid)
  }

  private static func token(_ vault: Vault) throws -> String? { try vault.remoteToken() }
}
