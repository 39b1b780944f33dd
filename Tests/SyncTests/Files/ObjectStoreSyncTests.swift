import CipherSQL
import FileServer
import Foundation
import RawNetwork
import RestorationModel
import SyncModel
import SyncServer
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine
@testable import FileTransfers

/// Photo transfers through a third-party object store. `Tests/S3/run` runs these tests.
@Suite(.serialized, .enabled(if: ObjectStoreProcess.isThere, "Tests/S3/run runs these"))
struct ObjectStoreSyncTests {
  private let store: ObjectStoreProcess
  private let clock = Locked<[Int64]>([])
  private let server: LocalServer
  private let one: Device
  private let two: Device
  private let project: UUID

  init() async throws {
    store = try ObjectStoreProcess()
    var secret = Array(ObjectStoreProcess.secret.utf8)
    var described = try ObjectStore(
      endpoint: store.url, bucket: ObjectStoreProcess.bucket, region: ObjectStoreProcess.region,
      credentials: ObjectStoreCredentials(accessKeyId: ObjectStoreProcess.accessKeyId, wipingSecret: &secret))
    // Each reading of the clock consumes one offset. The last offset stays in use; without offsets the clock is
    // right.
    described.clock = Clock(
      now: { [clock] in
        Clock.system.now() + clock.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? 0 }
      }, instant: Clock.system.instant, sleepUntil: Clock.system.sleepUntil)
    server = try LocalServer(objectStore: described) { limits in
      limits.files.fileBytes = 3_000_000
      limits.files.quotaBytes = 6_000_000
      limits.files.contentTypes = ContentTypes(["application/octet-stream", "image/jpeg"])
    }
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    project = try await one.write { try $0.insert(Project(title: "House")).uuid }
  }

  private func attach(_ device: Device, _ path: String) throws -> UUID {
    try device.vault.attach([path], to: try device.vault.entities.entity("Project"), project)[0]
  }

  private func attach(_ device: Device, bytes: Int, _ name: String, beginning: [UInt8] = []) throws -> UUID {
    let path = device.folder.path + "/" + name
    let content = beginning + (beginning.count..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    try Data(content).write(to: URL(filePath: path))
    return try attach(device, path)
  }

  private func content(_ device: Device, _ uuid: UUID) throws -> Data {
    let reader = try device.vault.openAttachment(uuid)
    var content = Data()
    try reader.forEachPart { content.append(contentsOf: $0) }
    return content
  }

  /// Requests a photo that is missing on the device.
  private func want(_ device: Device, _ uuid: UUID) {
    #expect(throws: VaultError.self) { try device.vault.openAttachment(uuid) }
  }

  private func uploads(_ device: Device) async throws -> [String] {
    try await device.values("SELECT uploadStatus FROM OfflinePhoto ORDER BY fileName")
  }

  private func messages(_ device: Device) async throws -> [String] {
    try await device.values("SELECT errorMessage FROM AttachmentTransfer WHERE errorMessage IS NOT NULL")
  }

  private func due(_ device: Device) async throws {
    try await device.write { _ = try $0.execute("UPDATE AttachmentTransfer SET scheduledAt = NULL") }
  }

  @Test("A photo is transferred through the object store and not stored on the server's disk")
  func aPhotoGoesThroughTheStore() async throws {
    let path = packagePath("Tests/Data/rocket.jpg")
    let photo = try attach(one, path)
    let sent = try await one.sync()
    #expect(sent.filesSent == 2 && sent.pushed == 2)
    #expect(try await uploads(one) == ["completed"])
    #expect(try await store.objects().count == 2)
    #expect(try await store.count("PUT") == 2)
    #expect(try await two.sync().filesFetched == 1)
    want(two, photo)
    #expect(try await two.sync().filesFetched == 1)
    #expect(try content(two, photo) == Data(contentsOf: URL(filePath: path)))
    #expect(try await store.refusals() == [])
    // The server's disk holds no copy of the files.
    let folder = server.folder.path + "/data/accounts"
    #expect(try !FileManager.default.subpathsOfDirectory(atPath: folder).contains { $0.contains("/files/") })
    #expect(try await one.sync().filesSent == 0)
  }

  @Test("An expired upload URL is replaced, a limited number of times")
  func anAddressThatHasExpiredIsReplaced() async throws {
    _ = try attach(one, bytes: 5_000, "roof.bin")
    // One request reads the clock twice: for the row and for the URL.
    clock.withLock { $0 = [-660_000, -660_000, 0] }
    #expect(try await one.sync().filesSent == 1)
    #expect(try await store.refusals() == ["AccessDenied"])
    // A server whose clock stays wrong causes a limited number of repetitions, and the records still sync.
    _ = try attach(one, bytes: 6_000, "late.bin")
    clock.withLock { $0 = [-660_000] }
    let report = try await one.sync()
    #expect(report.filesSent == 0 && report.pushed == 1)
    #expect(try await store.count("PUT") == 2 + PresignedPlan.mostRepetitions + 1)
    #expect(try await messages(one) == ["the object store refused the file (status 403, AccessDenied)"])
    clock.withLock { $0 = [] }
    try await due(one)
    #expect(try await one.sync().filesSent == 1)
  }

  /// The URL of a download expires as well.
  @Test("A download whose URL has expired continues with a new URL") func anExpiredDownloadIsGoneOnWith() async throws {
    let photo = try attach(one, bytes: 5_000, "roof.bin")
    try await one.sync()
    try await two.sync()
    want(two, photo)
    // The server first checks that the file exists and then signs the URL.
    clock.withLock { $0 = [0, -660_000, 0] }
    #expect(try await two.sync().filesFetched == 1)
    #expect(try content(two, photo) == content(one, photo))
    #expect(try await store.refusals() == ["AccessDenied"])
  }

  @Test("An upload error names the accepted content types, and other photos still sync")
  func aTypeThatTheServerDoesNotTakeIsNamed() async throws {
    try one.vault.setPreference(.upload, "plaintext")
    _ = try attach(one, bytes: 5_000, "list.pdf", beginning: Array("%PDF-1.7\n".utf8))
    let photo = try attach(one, bytes: 5_000, "roof.jpg", beginning: [0xFF, 0xD8, 0xFF, 0xE0])
    let report = try await one.sync()
    #expect(report.filesSent == 1 && report.filesFailed == 1 && report.pushed == 3)
    #expect(
      try await messages(one) == [
        "the server refused the file: contentType must be one of application/octet-stream, image/jpeg"
      ])
    #expect(try await two.sync().pulled == 3)
    want(two, photo)
    #expect(try await two.sync().filesFetched == 1)
    #expect(try content(two, photo) == content(one, photo))
  }

  @Test("A file over the size limit sends no request to the store")
  func aFileThatIsTooLargeAsksForNothing() async throws {
    _ = try attach(one, bytes: 4_000_000, "a-huge.bin")
    _ = try attach(one, bytes: 5_000, "b-small.bin")
    let report = try await one.sync()
    #expect(report.pushed == 3 && report.filesSent == 1 && report.filesFailed == 1)
    #expect(try await uploads(one) == ["failed", "completed"])
    #expect(try await store.count("PUT") == 1)
  }

  @Test("An upload over the quota fails and reports that the account has no room left")
  func theQuotaIsTold() async throws {
    for name in ["a", "b", "c"] {
      _ = try attach(one, bytes: 2_500_000, name + ".bin", beginning: Array(name.utf8))
    }
    let report = try await one.sync()
    #expect(report.pushed == 4 && report.filesSent == 2 && report.filesFailed == 1)
    #expect(try await messages(one) == ["the server has no space left for the files of this account"])
    #expect(try await store.count("PUT") == 2)
  }

  /// Records and their metadata never wait for the store, whether it is unreachable or fails.
  @Test(
    "Records sync while the object store is unavailable or failing",
    arguments: ["unavailable", "failing", "cut", "gone"])
  func recordsDoNotWaitForTheStore(how: String) async throws {
    let photo = try attach(one, bytes: 5_000, "roof.bin")
    if how == "gone" { store.stop() } else { try await store.gate(["mode": .text(how)]) }
    let report = try await one.sync()
    #expect(report.pushed == 2 && report.filesSent == 0)
    // A store that responds with 500 was reached, so the attempt failed. The other stores could not be reached.
    #expect(report.filesFailed == (how == "failing" ? 1 : 0))
    #expect(try await two.sync().pulled == 2)
    #expect(try await two.values("SELECT fileName FROM OfflinePhoto") == ["roof.bin"])
    try await one.write { _ = try $0.insert(Project(title: "Another")) }
    #expect(try await one.sync().pushed == 1, "the server is not taken to be away")
    want(two, photo)
    #expect(try await two.sync().filesFetched == 0)
    let back = how == "gone" ? try ObjectStoreProcess(port: store.port) : store
    try await back.gate(["mode": "pass"])
    try await due(one)
    #expect(try await one.sync().filesSent == 1)
    try await due(two)
    #expect(try await two.sync().filesFetched == 1)
    #expect(try content(two, photo) == content(one, photo))
  }

  /// The store received the complete file, but the connection was cut before the response.
  @Test("An upload whose response is lost is not sent twice") func lostResponseSendsNothingTwice() async throws {
    _ = try attach(one, bytes: 200_000, "roof.bin")
    try await store.gate(["mode": "drop-response"])
    #expect(try await one.sync().filesSent == 1)
    #expect(try await store.count("PUT") == 1)
    #expect(try await store.objects().count == 1)
  }

  /// The upload is cancelled after the store has received the file and before it responds. The next attempt finds
  /// the file.
  @Test("The next attempt finds a file whose upload was cancelled before the response")
  func anUploadThatIsCancelledIsFound() async throws {
    _ = try attach(one, bytes: 200_000, "roof.bin")
    try await store.gate(["mode": "hang"])
    let task = Task { [one] in try await one.worker.sync() }
    while try await store.objects().isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await store.gate(["mode": "pass"])
    #expect(try await one.sync().filesSent == 1)
    #expect(try await store.count("PUT") == 1)
    #expect(try await uploads(one) == ["completed"])
  }

  @Test("A file that was tampered with in the store is rejected") func whatWasTamperedWithIsNotTakenIn() async throws {
    let photo = try attach(one, bytes: 5_000, "roof.bin")
    try await one.sync()
    try await two.sync()
    want(two, photo)
    try await store.gate(["tamper": true])
    let report = try await two.sync()
    #expect(report.filesFetched == 0)
    #expect(try await messages(two).count == 1)
    want(two, photo)
  }

  @Test("A full comparison uploads a file again that the store has lost")
  func whatTheStoreHasLostIsSentAgain() async throws {
    let photo = try attach(one, bytes: 5_000, "roof.bin")
    try await one.sync()
    try await two.sync()
    try await store.gate(["lose": true])
    want(two, photo)
    #expect(try await two.sync().filesFetched == 0)
    #expect(try await one.sync().filesSent == 0)
    #expect(try await one.sync(RoundRequest(isFull: true)).filesSent == 1)
    try await due(two)
    #expect(try await two.sync().filesFetched == 1)
    #expect(try content(two, photo) == content(one, photo))
  }
}
