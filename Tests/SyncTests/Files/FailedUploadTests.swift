import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing
import HTTPClient

@testable import VaultStore
@testable import SyncEngine
@testable import FileTransfers

/// A file remote that fails every upload with the planned problem.
private struct FailingFiles: FileRemote {
  let files: any FileRemote
  let problem: Locked<UploadProblem?>

  func send(
    _ file: UploadSource, _ name: FileName, address: String?, link: FileServerState,
    remember: @Sendable (String?) async throws -> Void, progress: @escaping @Sendable (Int64) async -> Void
  ) async -> UploadResult {
    if let problem = problem.withLock({ $0 }) { return UploadResult(problem: problem, offset: 0, link: link) }
    return await files.send(file, name, address: address, link: link, remember: remember, progress: progress)
  }

  func fetch(
    _ name: FileName, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem) { throw .absent }

  func missing(among names: [FileName]) async throws(RemoteFailure) -> Set<FileName> {
    try await files.missing(among: names)
  }

  func digests(of names: [FileName]) async throws(RemoteFailure) -> [FileName: FileDigestsResponse.Held]? {
    try await files.digests(of: names)
  }
}

@Suite struct FailedUploadTests {
  /// The visible effect of an incomplete upload after the round.
  enum Sign { case failure, delay, pause }

  private static let cases: [(problem: UploadProblem, sign: Sign)] = [
    (.transport(.noConnection(detail: "gone")), .pause), (.transport(.timedOut(seconds: 30)), .pause),
    (.transport(.notTheServer(detail: "a sign-in page")), .pause), (.transport(.bodyFailed), .failure),
    (.storeNotReached(.noConnection(detail: "gone")), .delay), (.later(seconds: 60), .delay),
    (.later(seconds: nil), .delay),
    (.serverFailed(status: 500), .failure), (.serverFailed(status: 503), .failure),
    (.storeRefused(status: 403, code: "AccessDenied"), .failure), (.noProgress, .failure), (.credentials, .pause),
    (.tooLarge, .failure), (.notTaken("no picture"), .failure), (.noRoom, .failure), (.refused(status: 400), .failure),
    (.refused(status: 409), .failure), (.unexpected, .failure), (.unreadable, .failure), (.vaultFailed, .failure),
  ]

  @Test(
    "A failed upload is shown as waiting, does not block its record, and completes once the cause ends"
  )
  func everyProblem() async throws {
    let server = try LocalServer()
    let device = try await Device("ada", at: server)
    let project = try await device.write { try $0.insert(Project(title: "House")).uuid }
    let remote = InterveningRemote(remote: await device.worker.remote)
    let faulty = Locked<UploadProblem?>(nil)
    let files = try #require(await device.worker.remote.files)
    remote.fileRemote.withLock { $0 = FailingFiles(files: files, problem: faulty) }
    let worker = SyncWorker(vault: device.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    for (number, (problem, sign)) in Self.cases.enumerated() {
      let path = device.folder.path + "/\(number).bin"
      try Data(repeating: UInt8(number), count: 5_000).write(to: URL(filePath: path))
      try attach(path, to: project, of: device)
      let unsent: SQL = "SELECT fileName FROM OfflinePhoto WHERE uploadStatus <> 'completed'"
      faulty.withLock { $0 = problem }
      for _ in 0..<2 {
        let report = try await worker.sync()
        #expect(report.filesSent == 0, "\(problem)")
        let usage = try usage(of: device)
        #expect(usage.waiting == 1, "\(problem)")
        switch sign {
        case .failure: #expect(usage.failed + usage.delayed == 1, "\(problem)")
        case .delay: #expect(report.outcome == .done && usage.failed == 0, "\(problem)")
        case .pause: #expect(report.outcome != .done && report.failure != nil && usage.failed == 0, "\(problem)")
        }
        #expect(try await device.values(unsent) == ["\(number).bin"], "\(problem)")
        #expect(try await device.waiting() == 0, "\(problem)")
      }
      faulty.withLock { $0 = nil }
      _ = try retry(on: device)
      // The retry time that the server requested has passed.
      try await device.write { _ = try $0.execute("UPDATE AttachmentTransfer SET scheduledAt = NULL") }
      let report = try await worker.sync()
      #expect(report.filesSent == 1 && report.outcome == .done, "\(problem): \(String(describing: report.failure))")
      #expect(try await device.values(unsent) == [], "\(problem)")
    }
  }

  // Synchronous, because `Vault.attach` is unavailable in asynchronous code.
  private func attach(_ path: String, to project: UUID, of device: Device) throws {
    _ = try device.vault.attach([path], to: try device.vault.entities.entity("Project"), project)
  }

  private func usage(of device: Device) throws -> AttachmentUsage { try device.vault.attachmentUsage() }
  private func retry(on device: Device) throws -> Int { try device.vault.retryTransfers() }
}
