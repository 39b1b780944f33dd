import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine
@testable import FileTransfers
import HTTPClient

/// A file remote that claims to hold a file already, although it holds other bytes or does not report digests.
private struct MistakenFiles: FileRemote {
  let tells: Bool

  func send(
    _ file: UploadSource, _ name: FileName, address: String?, link: FileServerState,
    remember: @Sendable (String?) async throws -> Void, progress: @escaping @Sendable (Int64) async -> Void
  ) async -> UploadResult {
    UploadResult(problem: nil, offset: file.byteCount ?? 0, link: link, wasSent: false)
  }

  func fetch(
    _ name: FileName, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem) { throw .absent }

  func missing(among files: [FileName]) async throws(RemoteFailure) -> Set<FileName> { [] }

  func digests(of files: [FileName]) async throws(RemoteFailure) -> [FileName: FileDigestsResponse.Held]? {
    guard tells else { return nil }
    let other = FileDigestsResponse.Held(
      byteCount: 3, sha256: String(repeating: "0", count: 64), contentDigest: nil)
    return Dictionary(uniqueKeysWithValues: files.map { ($0, other) })
  }
}

@Suite struct OtherBytesTests {
  @Test(
    "A file whose copy on the server differs or cannot be verified is not sent and never evicted",
    arguments: [true, false])
  func otherBytes(tells: Bool) async throws {
    let server = try LocalServer()
    let device = try await Device("ada", at: server)
    let path = device.folder.path + "/roof.bin"
    try Data(repeating: 7, count: 5_000).write(to: URL(filePath: path))
    let project = try await device.write { try $0.insert(Project(title: "House")).uuid }
    try attach(path, to: project, of: device)
    let remote = InterveningRemote(remote: await device.worker.remote)
    remote.fileRemote.withLock { $0 = MistakenFiles(tells: tells) }
    let worker = SyncWorker(vault: device.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    let report = try await worker.sync()
    #expect(report.filesSent == 0 && report.filesFailed == 1)
    #expect(try await device.values("SELECT direction FROM AttachmentTransfer") == ["upload"])
    try await device.write { try SyncSettings.set(.storageLimit, "1", in: $0) }
    #expect(try makeRoom(on: device) == 0)
    #expect(try await device.values("SELECT full FROM AttachmentContent") == ["here"])
  }

  @Test("No file is evicted between the news of another epoch and the comparison of the server's files")
  func anotherEpoch() async throws {
    let server = try LocalServer()
    let device = try await Device("ada", at: server)
    let path = device.folder.path + "/roof.bin"
    try Data(repeating: 7, count: 5_000).write(to: URL(filePath: path))
    let project = try await device.write { try $0.insert(Project(title: "House")).uuid }
    try attach(path, to: project, of: device)
    #expect(try await device.worker.sync().filesSent == 1)
    try await device.write { try SyncSettings.set(.storageLimit, "1", in: $0) }
    var account = try await device.worker.remote.account()
    account.epoch = "another"
    _ = try await device.vault.sync { [account] in try $0.identify(account) }
    #expect(try makeRoom(on: device) == 0)
    #expect(try await device.worker.sync().outcome == .done)
    #expect(try makeRoom(on: device) == 1)
  }

  // Synchronous, because `Vault.attach` is unavailable in asynchronous code.
  private func attach(_ path: String, to project: UUID, of device: Device) throws {
    _ = try device.vault.attach([path], to: try device.vault.entities.entity("Project"), project)
  }

  private func makeRoom(on device: Device) throws -> Int { try device.vault.evict() }
}
