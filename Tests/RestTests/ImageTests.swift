import CipherSQL
import Foundation
import Testing

@testable import VaultStore
@testable import SyncEngine

@Suite(.serialized) struct ImageTests {

  private func deviceWithImage(
    _ api: RangeAPI, routes: String? = nil, jitter: Double = 0
  ) async throws -> RangeDevice {
    let device = try RangeDevice(at: api.url, routes: routes, jitter: jitter)
    try await device.sync()
    let session = try await device.addSession()
    let group = try await device.write { connection in
      try connection.execute(
        "INSERT INTO OfflineGroupEntry (sessionId, groupNumber, distance, numberOfShots) VALUES (\(session), 1, 100, 5)"
      )
      return connection.lastInsertedRowID
    }
    let path = device.folder.file("target.png")
    try Data(Self.bytes).write(to: URL(fileURLWithPath: path))
    let uuid = try #require(
      try await device.value("SELECT uuid FROM OfflineGroupEntry WHERE groupEntryId = \(group)", as: UUID.self))
    let vault = device.vault
    try await Task.detached {
      try Self.now { _ = try vault.attach([path], to: vault.entities.entity("GroupEntry"), uuid) }
    }.value
    return device
  }

  private static func now(_ body: () throws -> Void) throws { try body() }

  /// The bytes are no real image, because files are sent byte for byte.
  private static let bytes: [UInt8] = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* $0 &+ 3) }

  @Test(
    "An image arrives exactly once with its record, whichever fault occurs",
    arguments: ["", "drop", "drop-response", "status 500", "no-id"])
  func anImageIsThereOnceWithItsRecord(_ fault: String) async throws {
    let api = try RangeAPI()
    let device = try await deviceWithImage(api)
    if !fault.isEmpty { try await api.fault("POST /api/groups/1/images", fault) }
    try await device.syncUntilQuiet()
    #expect(
      try await api.sql("SELECT groupEntryId, kind, fileName, bytes FROM images")
        == #"[[1, "other", "target.png", 200000]]"#)
    #expect(try await device.value("SELECT serverId FROM OfflineGroupImage", as: Int.self) == 1)
    let hex = try await api.sql("SELECT hex(content) FROM images")
    #expect(hex.dropFirst(3).dropLast(3) == Self.bytes.map { String(format: "%02X", $0) }.joined())
  }

  @Test("Records sync while an image upload fails") func recordsGoOnWhileImagesCannot() async throws {
    let api = try RangeAPI()
    let device = try await deviceWithImage(api)
    try await api.fault("POST /api/groups/1/images", "status 500", times: 100)
    _ = try await device.worker.sync()
    #expect(try await api.count("groups") == "[[1]]")
    try await device.addHold(1, at: 500)
    _ = try await device.worker.sync()
    #expect(try await api.count("dope") == "[[1]]")
    #expect(try await api.count("images") == "[[0]]")
    try await api.noFaults()
    let vault = device.vault
    try await Task.detached { try Self.now { _ = try vault.retryTransfers() } }.value
    try await device.syncUntilQuiet()
    #expect(try await api.count("images") == "[[1]]")
  }

  @Test("An image of a deleted group becomes a conflict and is restored with the group")
  func anImageWhoseGroupIsGoneIsShownAndComesBackWithIt() async throws {
    let api = try RangeAPI()
    let device = try await deviceWithImage(api)
    _ = try await device.worker.round(.manual, RoundRequest())
    for table in ["sessions", "groups"] { try await api.sql("DELETE FROM \(table)") }
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    let conflicts = try await device.values(
      "SELECT conflictId FROM OfflineConflictResolution WHERE entityType = 'GroupImage' AND resolvedAt IS NULL")
    #expect(conflicts.count == 1)
    let id = try #require(conflicts.first)
    _ = try await device.worker.sync()
    let vault = device.vault
    try await Task.detached {
      try Self.now { try vault.resolveConflict(id, takesLocal: true, user: "ada") }
    }.value
    try await device.syncUntilQuiet()
    #expect(try await api.count("sessions") == "[[1]]")
    #expect(try await api.sql("SELECT bytes FROM images JOIN groups ON groups.id = groupEntryId") == "[[200000]]")
  }

  /// The API creates the record first, returns a URL for the image, and receives a confirmation after the upload.
  @Test(
    "An image is uploaded to a URL that the API returns, whichever fault occurs",
    arguments: [
      ("", ""), ("POST /api/images/1/address", "drop-response"), ("PUT /store/image-1", "status 403"),
      ("PUT /store/image-1", "drop"), ("POST /api/images/1/confirm", "drop-response"),
      ("POST /api/images/1/confirm", "status 500"), ("POST /api/groups/1/images", "drop-response"),
    ])
  func anImageGoesToAnAddressThatTheAPINames(_ request: String, _ fault: String) async throws {
    let api = try RangeAPI()
    let routes = try RangeAPI.routeFile().replacing(
      #""image": {"multipart": "POST /groups/{groupEntryId}/images", "file": "image"}"#,
      with: #"""
        "create": "POST /groups/{groupEntryId}/images",
        "image": {
          "presigned": "POST /images/{id}/address", "body": {"contentType": "type", "byteCount": "size"},
          "url": "data.url", "key": "data.key", "confirm": "POST /images/{id}/confirm", "confirmKey": "key"
        }
        """#)
    #expect(routes.contains("presigned"))
    let device = try await deviceWithImage(api, routes: routes)
    if !fault.isEmpty { try await api.fault(request, fault) }
    try await device.syncUntilQuiet()
    #expect(try await api.sql("SELECT groupEntryId, fileName, bytes FROM images") == #"[[1, "target.png", 200000]]"#)
    let hex = try await api.sql("SELECT hex(content) FROM images")
    #expect(hex.dropFirst(3).dropLast(3) == Self.bytes.map { String(format: "%02X", $0) }.joined())
  }

  /// The caption changes after a failed upload and before the next attempt.
  @Test("A caption that changes before the image is uploaded is sent with the image")
  func whatIsChangedBeforeTheImageGoesGoesWithIt() async throws {
    let api = try RangeAPI()
    let device = try await deviceWithImage(api, jitter: 1)
    try await api.fault("POST /api/groups/1/images", "status 500")
    _ = try await device.worker.sync()
    try await device.write { try $0.execute("UPDATE OfflineGroupImage SET caption = 'cold bore'") }
    try await device.syncUntilQuiet()
    #expect(try await api.sql("SELECT caption, bytes FROM images") == #"[["cold bore", 200000]]"#)
    #expect(try await device.values("SELECT errorMessage FROM OfflineSyncQueue WHERE status = 'failed'") == [])
    // The record now belongs to the API, which accepts no changes.
    await #expect(throws: SQLError.self) {
      try await device.write { try $0.execute("UPDATE OfflineGroupImage SET caption = 'late'") }
    }
  }

  /// The record is deleted while its image is uploaded. The record that the response names is then deleted at the
  /// API, too.
  @Test("An image that is deleted during its upload is deleted at the API")
  func anImageThatIsDeletedWhileItIsSentDoesNotStay() async throws {
    let api = try RangeAPI()
    let routes = try RangeAPI.routeFile().replacing(
      #""image": {"multipart""#, with: #""delete": "DELETE /images/{id}", "image": {"multipart""#)
    #expect(routes.contains("DELETE /images"))
    let device = try await deviceWithImage(api, routes: routes)
    try await api.fault("POST /api/groups/1/images", "slow 3")
    let sending = Task { try await device.worker.sync() }
    while try await device.values("SELECT status FROM AttachmentTransfer WHERE status = 'running'").isEmpty {
      try await Task.sleep(for: .milliseconds(10))
    }
    try await device.write { try $0.execute("DELETE FROM OfflineGroupImage") }
    // A round of records runs alongside the upload.
    _ = try await device.worker.round(.manual, RoundRequest())
    #expect(
      try await device.values("SELECT operationType FROM OfflineSyncQueue WHERE completedAt IS NULL") == ["delete"])
    _ = try await sending.value
    try await device.syncUntilQuiet()
    #expect(try await api.count("images") == "[[0]]")
  }
}
