import CipherSQL
import RawNetwork
import SQLCipherStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import ServerStorage
@testable import SyncServer

extension PresignedTests {
  @Test("A deleted account leaves no object in the store, also no object that arrives by an address from before")
  func deletedAccount() async throws {
    let process = try ObjectStoreProcess()
    let store = try store(process)
    let server = try TestServer(objectStore: store)
    let client = try server.client("ada")
    let (sent, late) = (bytes(1_000, seed: 2), bytes(2_000, seed: 3))
    let (first, second) = (newUuid(), newUuid())
    let address = try await PresignedClient.ask(client, sent, as: first)
    #expect(try await send(address, sent).status == 200)
    let confirmed = try await client.request(
      "POST", "/v1/files/\(first)/full/confirm", ["upload": .text(address.text("upload"))])
    #expect(confirmed.status == 200)
    let open = try await PresignedClient.ask(client, late, as: second)

    let account = try #require(try server.withDirectory { try $0.accounts() }.first)
    let keys = [address, open].map { "\(account.folder)/\($0.text("upload"))" }
    let disk = try #require(server.server.files as? DiskFileStorage)
    let marker = try await EmbeddedObjects(disk).read(account) { try $0.storeMarker() }
    let markerKey = "\(account.folder)/marker-\(marker.text)"
    for key in [keys[0], markerKey] { #expect(try await store.find(key) != nil) }

    let deleted = try await client.request("DELETE", "/v1/account")
    #expect(deleted.status == 200 && deleted["files"] == 2, "\(deleted.json)")
    // The device sends by an address that is still valid.
    #expect(try await send(open, late).status == 200)
    #expect(try server.withDirectory { try $0.deletions() } == [account])
    let directory = try ServerDirectory(in: try ServerFolder(server.folder.path + "/data", isCreating: false))
    let clock = Clock(
      now: { Clock.system.now() + 700_000 }, instant: Clock.system.instant, sleepUntil: Clock.system.sleepUntil)
    let objects = EmbeddedObjects(disk)
    let files = ObjectFiles(store: store, database: objects, log: .silent, environment: .system)
    let deletions = AccountDeletions(directory: directory, objects: objects, store: files, clock: clock, log: .silent)
    #expect(try await deletions.remove(account))
    #expect(try directory.deletions().isEmpty)
    directory.close()
    for key in keys + [markerKey] { #expect(try await store.find(key) == nil) }
    await server.server.stop()
  }
}
