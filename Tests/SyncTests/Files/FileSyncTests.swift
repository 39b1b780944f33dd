import CipherSQL
import Foundation
import RestorationModel
import SealedFiles
import SyncServer
import TestSupport
import Testing
import HTTPClient
import VaultKeys

@testable import VaultStore
@testable import SyncEngine
@testable import FileTransfers

/// Photo transfers between devices. Files follow the records and never delay them.
@Suite struct FileSyncTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device
  private let project: UUID

  init() async throws {
    server = try LocalServer { $0.files.fileBytes = 3_000_000 }
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    project = try await one.write { try $0.insert(Project(title: "House")).uuid }
  }

  /// Attaches a file on a device. Synchronous, because `Vault.attach` is unavailable in asynchronous code.
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

  /// Requests a photo if its record exists on the device.
  private func ask(_ device: Device, _ uuid: UUID) {
    do { _ = try device.vault.openAttachment(uuid) } catch {}
  }

  private func statuses(_ device: Device) async throws -> [String] {
    try await device.values("SELECT full || ' ' || thumbnail || ' ' || uploadStatus FROM photos ORDER BY fileName")
  }

  @Test("A photo arrives thumbnail first, and its full file after the device requests it")
  func aPhotoArrivesThumbnailFirst() async throws {
    let path = packagePath("Tests/Data/rocket.jpg")
    let photo = try attach(one, path)
    let events = try await one.worker.events {
      let sent = try await one.sync()
      #expect(sent.filesSent == 2 && sent.pushed == 2)
    }
    // The worker reports the start of the round, the pushed count and once the end of the round, then the progress
    // of files.
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

  @Test("Another server receives the files that the former one has")
  func anotherServer() async throws {
    let photo = try attach(one, bytes: 5_000, "roof.bin")
    #expect(try await one.sync().filesSent == 1)
    let other = try LocalServer()
    let moved = try Device.worker(one.vault, url: other.server.url, token: try other.token("ada"))
    let report = try await moved.sync()
    #expect(report.pushed == 2 && report.filesSent == 1)
    let three = try await Device("cleo", at: other)
    try await three.sync()
    try want(three, photo)
    #expect(try await three.sync().filesFetched == 1)
  }

  /// The server rejects one file as too large. The records and the other file still sync.
  @Test("A rejected photo delays neither records nor other photos") func aFailedPhotoDelaysNothing() async throws {
    _ = try attach(one, bytes: 4_000_000, "a-huge.bin")
    _ = try attach(one, bytes: 5_000, "b-small.bin")
    let report = try await one.sync()
    #expect(report.pushed == 3 && report.filesSent == 1 && report.filesFailed == 1)
    #expect(try await one.values("SELECT uploadStatus FROM OfflinePhoto ORDER BY fileName") == ["failed", "completed"])
    let usage = try one.usage()
    #expect(usage.failed == 1 && usage.waiting == 1)
    #expect(try await two.sync().pulled == 3)
    // The next attempt is due in an hour, or when the user retries.
    #expect(try await one.sync().filesFailed == 0)
    #expect(try one.retry() == 1)
    #expect(try await one.sync().filesFailed == 1)
  }

  @Test("Bytes that another member uploads under a photo's name never replace the owner's copy")
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

  /// The device keeps the only copy of a photo although it no longer follows the project.
  @Test("An unsent photo of a project that is no longer followed stays until it is uploaded")
  func anUnsentPhotoOfAProjectThatIsLeftStays() async throws {
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

  /// The server's disk lost a file. A device that holds the file uploads it again before it evicts its copy.
  @Test("A full comparison uploads a file again that the server has lost")
  func whatTheServerHasLostIsSentAgain() async throws {
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

  /// However long this device cannot write to its disk, the download loses no retry attempt.
  @Test("A download that cannot be written to disk uses up no retry attempt")
  func aDiskThatTakesNothingCostsNoAttempt() async throws {
    let photo = try attach(one, bytes: 5_000, "roof.bin")
    try await one.sync()
    try await two.sync()
    try want(two, photo)
    let content = try #require(try two.vault.attachment(photo).contentUuid)
    // A folder at the path prevents the file from being written.
    let part = two.vault.layout.attachmentFile(content, .full) + VaultLayout.unfinishedSuffix
    try FileManager.default.createDirectory(atPath: part, withIntermediateDirectories: true)
    for _ in 0..<7 {
      #expect(try await two.sync().filesFetched == 0)
      #expect(
        try await two.values("SELECT status || ' ' || retryCount || ' ' || errorMessage FROM AttachmentTransfer")
          == ["pending 0 the file could not be written; check the free disk space"])
      try await two.write { _ = try $0.execute("UPDATE AttachmentTransfer SET scheduledAt = NULL") }
    }
    try FileManager.default.removeItem(atPath: part)
    #expect(try await two.sync().filesFetched == 1)
    #expect(try self.content(two, photo).count == 5_000)
  }

  /// Another process was killed during an upload. This worker has already moved files.
  @Test("A worker takes over an upload that a killed process left running")
  func whatAnotherProcessLeftUnderWayIsTakenUp() async throws {
    _ = try attach(one, bytes: 5_000, "roof.bin")
    try await one.sync()
    _ = try attach(one, bytes: 6_000, "late.bin")
    try await one.write { _ = try $0.execute("UPDATE AttachmentTransfer SET status = 'running'") }
    #expect(try await one.sync().filesSent == 1)
  }

  /// A file from a newer program version, or one damaged on the server, affects no other file.
  @Test("A damaged file on the server fails without stopping other downloads")
  func oneFileThatCannotBeTakenInStopsNoOther() async throws {
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

  /// A running worker transfers files alongside its rounds, as sender and as receiver.
  @Test("Running workers upload and download files") func aRunningWorkerMovesFiles() async throws {
    let workers = [one, two].map { device in Task { try await device.worker.run() } }
    let photo = try attach(one, bytes: 2_500_000, "roof.bin")
    try await eventually(every: .milliseconds(20)) {
      try await one.values("SELECT uploadStatus FROM OfflinePhoto") == ["completed"]
    }
    try await eventually(every: .milliseconds(20)) {
      try await two.values("SELECT uploadStatus FROM OfflinePhoto").count == 1
    }
    try want(two, photo)
    try await eventually(every: .milliseconds(20)) { try await two.values("SELECT full FROM photos") == ["here"] }
    #expect(try content(two, photo) == content(one, photo))
    for worker in workers {
      worker.cancel()
      _ = await worker.result
    }
  }

  /// The transfer is cancelled at random moments. At the end the file is complete and no record operation is lost.
  @Test(
    "A transfer that is cancelled at random moments completes in later rounds",
    arguments: [1, UInt64.random(in: 1...UInt64.max)])
  func aCancelledTransferGoesOn(seed: UInt64) async throws {
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

  /// A server that processes images receives the content itself. A receiving device encrypts the content as it
  /// arrives.
  @Test("With plaintext uploads, the server stores the content and the receiving device encrypts it")
  func aServerMayBeGivenTheContent() async throws {
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
