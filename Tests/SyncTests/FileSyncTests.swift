import CipherSQL
import Foundation
import RestorationModel
import SealedFiles
import SyncServer
import Testing
import WebTransport

@testable import OfflineStore
@testable import SyncEngine

/// Photos between devices, below the data and never in its way.
@Suite struct FileSyncTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device
  private let project: UUID

  init() async throws {
    server = try LocalServer { $0.fileBytes = 3_000_000 }
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    project = try await one.write { try $0.insert(Project(title: "House")).uuid }
  }

  /// Takes a file in on a device. Not in asynchronous code, as a program does it.
  private func attach(_ device: Device, _ path: String) throws -> UUID {
    try device.vault.attach([path], to: try device.vault.entities.entity("Project"), project)[0]
  }

  private func attach(_ device: Device, bytes: Int, _ name: String) throws -> UUID {
    let path = device.folder.path + "/" + name
    try Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }).write(to: URL(filePath: path))
    return try attach(device, path)
  }

  private func content(_ device: Device, _ uuid: UUID, _ variant: AttachmentVariant = .full) throws -> Data {
    let reader = try device.vault.openAttachment(uuid, variant)
    var content = Data()
    try reader.forEachPart { content.append(contentsOf: $0) }
    return content
  }

  private func want(_ device: Device, _ uuid: UUID) throws {
    #expect(throws: VaultError.self) { try device.vault.openAttachment(uuid) }
  }

  /// Asks for a photo, if its record is there already.
  private func ask(_ device: Device, _ uuid: UUID) {
    do { _ = try device.vault.openAttachment(uuid) } catch {}
  }

  private func statuses(_ device: Device) async throws -> [String] {
    try await device.values("SELECT full || ' ' || thumbnail || ' ' || uploadStatus FROM photos ORDER BY fileName")
  }

  @Test func aPhotoArrivesThumbnailFirst() async throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().path + "/../Data/rocket.jpg"
    let photo = try attach(one, path)
    let events = try await one.worker.events {
      let sent = try await one.sync()
      #expect(sent.filesSent == 2 && sent.pushed == 2)
    }
    // The events of a round for a screen: its begin, the sent operations, the transfers, and once its outcome.
    let names = events.map { String("\($0)".prefix { $0 != "(" }) }
    #expect(names.prefix(3) == ["syncing", "pushed", "synced"] && events[1] == .pushed(count: 2), "\(names)")
    #expect(Set(names.dropFirst(3)) == ["file", "fileMoved"] && names.filter { $0 == "fileMoved" }.count == 2)
    #expect(try await statuses(one) == ["here here completed"])
    let fetched = try await two.sync()
    #expect(fetched.filesFetched == 1)
    #expect(try content(two, photo, .thumbnail) == content(one, photo, .thumbnail))
    try want(two, photo)
    #expect(try await two.sync().filesFetched == 1)
    #expect(try content(two, photo) == Data(contentsOf: URL(filePath: path)))
    #expect(try await two.sync().filesFetched == 0)
  }

  /// A file that the server does not take fails, and the data and the other files are where they belong.
  @Test func aFailedPhotoDelaysNothing() async throws {
    _ = try attach(one, bytes: 4_000_000, "a-huge.bin")
    _ = try attach(one, bytes: 5_000, "b-small.bin")
    let report = try await one.sync()
    #expect(report.pushed == 3 && report.filesSent == 1 && report.filesFailed == 1)
    #expect(try await one.values("SELECT uploadStatus FROM OfflinePhoto ORDER BY fileName") == ["failed", "completed"])
    let usage = try one.usage()
    #expect(usage.failed == 1 && usage.waiting == 1)
    #expect(try await two.sync().pulled == 3)
    // The next attempt is due in an hour, or on a user's request.
    #expect(try await one.sync().filesFailed == 0)
    #expect(try one.retry() == 1)
    #expect(try await one.sync().filesFailed == 1)
  }

  @Test("Bytes that another member sends under the name of a photo never take the place of the owner's copy")
  func anotherMembersBytes() async throws {
    let photo = try attach(one, bytes: 5_000, "roof.bin")
    let contentUuid = try #require(try one.vault.attachment(photo).contentUuid)
    let token = try server.token("eve")
    let transport = HTTPTransport(address: try ServerAddress(server.server.url)) { token }
    let bytes: [UInt8] = [9, 9, 9]
    let stranger = await TusClient(transport: transport, endpoint: "/v1/files").upload(
      UploadSource(byteCount: 3) { offset, buffer in
        let part = bytes[Int(offset)...].prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
      }, metadata: [("content", contentUuid), ("variant", "full")], address: nil, remember: { _ in })
    #expect(stranger.problem == nil)
    #expect(try await one.sync().filesSent == 1)
    try await two.sync()
    try want(two, photo)
    #expect(try await two.sync().filesFetched == 1)
    #expect(try content(two, photo) == content(one, photo))
    #expect(try await one.values("SELECT iif(comparedFull IS NULL, 'no', 'yes') FROM AttachmentContent") == ["yes"])
  }

  /// The only copy of a photo does not go because its project is not followed any more.
  @Test func anUnsentPhotoOfAProjectThatIsLeftStays() async throws {
    _ = try attach(one, bytes: 5_000, "roof.bin")
    let other = try await one.write { try $0.insert(Project(title: "Other")).uuid }
    try await one.sync()
    let late = try attach(one, bytes: 6_000, "late.bin")
    try await one.write {
      _ = try $0.execute(
        "UPDATE AttachmentTransfer SET status = 'failed', scheduledAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 hour')"
      )
    }
    try await one.sync()
    try one.follow(other.sqlText)
    #expect(try await one.sync().heldBack == 1)
    #expect(try await one.values("SELECT fileName FROM OfflinePhoto") == ["late.bin"])
    #expect(try content(one, late).count == 6_000)
    #expect(try one.retry() == 1)
    #expect(try await one.sync().filesSent == 1)
    #expect(try await one.sync().left > 0)
    #expect(try await one.values("SELECT fileName FROM OfflinePhoto") == [])
  }

  /// The server's disk lost a file. A device that has it sends it again before it evicts it.
  @Test func whatTheServerHasLostIsSentAgain() async throws {
    let photo = try attach(one, bytes: 5_000, "roof.bin")
    let kept = try attach(one, bytes: 6_000, "floor.bin")
    try await one.sync()
    for path in try serverPaths() {
      if try Data(contentsOf: URL(filePath: path)).count < 5_500 { try FileManager.default.removeItem(atPath: path) }
    }
    #expect(try await one.sync().filesSent == 0)
    #expect(try await one.sync(RoundRequest(isFull: true)).filesSent == 1)
    #expect(try await one.sync().filesSent == 0)
    try await two.sync()
    for uuid in [photo, kept] { try want(two, uuid) }
    #expect(try await two.sync().filesFetched == 2)
    #expect(try content(two, photo) == content(one, photo))
  }

  /// While the disk of this device fails, a download loses no attempt.
  @Test func aDiskThatTakesNothingCostsNoAttempt() async throws {
    let photo = try attach(one, bytes: 5_000, "roof.bin")
    try await one.sync()
    try await two.sync()
    try want(two, photo)
    let content = try #require(try two.vault.attachment(photo).contentUuid)
    // No file can be written where a folder stands.
    let part = two.vault.layout.attachmentFile(content, .full) + VaultLayout.unfinishedSuffix
    try FileManager.default.createDirectory(atPath: part, withIntermediateDirectories: true)
    for _ in 0..<7 {
      #expect(try await two.sync().filesFetched == 0)
      #expect(
        try await two.values("SELECT status || ' ' || retryCount || ' ' || errorMessage FROM AttachmentTransfer")
          == ["pending 0 it could not be written; look whether the disk has room"])
      try await two.write { _ = try $0.execute("UPDATE AttachmentTransfer SET scheduledAt = NULL") }
    }
    try FileManager.default.removeItem(atPath: part)
    #expect(try await two.sync().filesFetched == 1)
    #expect(try self.content(two, photo).count == 5_000)
  }

  /// Another process was killed in the middle of a file; this worker has moved files before.
  @Test func whatAnotherProcessLeftUnderWayIsTakenUp() async throws {
    _ = try attach(one, bytes: 5_000, "roof.bin")
    try await one.sync()
    _ = try attach(one, bytes: 6_000, "late.bin")
    try await one.write { _ = try $0.execute("UPDATE AttachmentTransfer SET status = 'running'") }
    #expect(try await one.sync().filesSent == 1)
  }

  /// A file of a newer program, or one that was damaged at the server, fails alone.
  @Test func oneFileThatCannotBeTakenInStopsNoOther() async throws {
    let spoilt = try attach(one, bytes: 5_000, "a.bin")
    let good = try attach(one, bytes: 6_000, "b.bin")
    try await one.sync()
    try await two.sync()
    for path in try serverPaths() {
      var bytes = try Data(contentsOf: URL(filePath: path))
      guard bytes.count < 5_500 else { continue }
      bytes[8] = 2
      try bytes.write(to: URL(filePath: path))
    }
    try want(two, spoilt)
    try want(two, good)
    let report = try await two.sync()
    #expect(report.filesFetched == 1 && report.filesFailed == 1)
    #expect(try content(two, good).count == 6_000)
    #expect(try await two.values("SELECT error FROM attachments WHERE error IS NOT NULL").count == 1)
  }

  /// A worker that runs moves files beside its rounds, on both sides.
  @Test func aRunningWorkerMovesFiles() async throws {
    let workers = [one, two].map { device in Task { try await device.worker.run() } }
    let photo = try attach(one, bytes: 2_500_000, "roof.bin")
    try await eventually { try await one.values("SELECT uploadStatus FROM OfflinePhoto") == ["completed"] }
    try await eventually { try await two.values("SELECT uploadStatus FROM OfflinePhoto").count == 1 }
    try want(two, photo)
    try await eventually { try await two.values("SELECT full FROM photos") == ["here"] }
    #expect(try content(two, photo) == content(one, photo))
    for worker in workers {
      worker.cancel()
      _ = await worker.result
    }
  }

  /// Cancelled at any moment, it is whole at the end, and no operation of the data is lost on the way.
  @Test(arguments: [1, UInt64.random(in: 1...UInt64.max)]) func aCancelledTransferGoesOn(seed: UInt64) async throws {
    print("FileSyncTests: seed \(seed)")
    var random = Seeded(seed)
    let photo = try attach(one, bytes: 2_900_000, "roof.bin")
    for _ in 0..<8 {
      for device in [one, two] {
        let task = Task { _ = try await device.worker.sync() }
        try await Task.sleep(for: .milliseconds(Int.random(in: 0..<150, using: &random)))
        task.cancel()
        do { try await task.value } catch is CancellationError {}
      }
      ask(two, photo)
    }
    try await one.sync()
    try await two.sync()
    ask(two, photo)
    try await two.sync()
    #expect(try content(two, photo) == content(one, photo), "seed \(seed)")
    #expect(try await one.values("SELECT uploadStatus FROM OfflinePhoto") == ["completed"])
  }

  /// A server that processes images receives the decrypted content. A device encrypts it during the download.
  @Test func aServerMayBeGivenTheContent() async throws {
    try setPlaintext()
    let photo = try attach(one, bytes: 2_300_000, "roof.bin")
    try await one.sync()
    let content = try content(one, photo)
    #expect(try serverFiles().contains(content))
    try await two.sync()
    try want(two, photo)
    #expect(try await two.sync().filesFetched == 1)
    #expect(try self.content(two, photo) == content)
    for file in try FileManager.default.subpathsOfDirectory(atPath: two.vault.layout.attachments) {
      let stored = FileManager.default.contents(atPath: two.vault.layout.attachments + "/" + file) ?? Data()
      #expect(stored.range(of: content[1000..<1100]) == nil)
    }
  }

  private func setPlaintext() throws { try one.vault.setPreference(.upload, "plaintext") }

  private func serverFiles() throws -> [Data] {
    try serverPaths().compactMap { FileManager.default.contents(atPath: $0) }
  }

  private func serverPaths() throws -> [String] {
    let folder = server.folder.path + "/data"
    return try FileManager.default.subpathsOfDirectory(atPath: folder).map { folder + "/" + $0 }.filter {
      var isFolder: ObjCBool = false
      return $0.contains("/files/") && !$0.hasSuffix("/marker")
        && FileManager.default.fileExists(atPath: $0, isDirectory: &isFolder)
        && !isFolder.boolValue
    }
  }
}

extension Device {
  fileprivate func usage() throws -> AttachmentUsage { try vault.attachmentUsage() }
  fileprivate func retry() throws -> Int { try vault.retryTransfers() }
}

/// Waits until a condition holds; the limit is a guard against hanging only.
private func eventually(_ condition: () async throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(120)
  while try await !condition() {
    try #require(ContinuousClock.now < end, "it does not come to pass")
    try await Task.sleep(for: .milliseconds(20))
  }
}
