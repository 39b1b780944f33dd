import CipherSQL
import Foundation
import SealedFiles
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import SyncServer

/// The bytes of a content are those that its record names.
@Suite struct ContentProofTests {
  private let folder: TemporaryFolder
  private let server: FieldVaultServer
  private let ada: FileClient
  private let bo: FileClient
  private let records: TestClient
  private let key = [UInt8](repeating: 7, count: 32)
  private let content = newUuid()

  private static let schema = Schema(
    name: "pictures",
    migrations: [
      MigrationFile(
        version: 1, name: "pictures",
        sql: """
          CREATE TABLE Picture (
            pictureId INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE,
            contentUuid TEXT, contentKey BLOB, contentDigest TEXT, thumbnailDigest TEXT,
            createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
            updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z', lastSyncedAt TEXT,
            syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
            isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
          ) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Picture', 'Picture', 'pictures');
          """)
    ])

  init() throws {
    folder = try TemporaryFolder()
    let data = try ServerFolder(folder.path + "/data", isCreating: true)
    server = try FieldVaultServer(.init(folder: data, listen: "127.0.0.1:0", schemas: [Self.schema]))
    let directory = try ServerDirectory(in: data)
    defer { directory.close() }
    records = TestClient(url: server.url, token: try directory.addUser("ada", account: "one").token)
    ada = FileClient(records)
    bo = FileClient(TestClient(url: server.url, token: try directory.addUser("bo", account: "one").token))
  }

  private static func sha256(_ bytes: [UInt8]) -> String {
    let digest = ContentDigest()
    bytes.withUnsafeBytes { digest.add($0) }
    return digest.finish()
  }

  /// Makes a record that names the content.
  private func name(_ bytes: [UInt8], key: [UInt8]? = nil, thumbnail: [UInt8]? = nil) async throws {
    let fields: SyncObject = [
      "contentUuid": .text(content), "contentKey": .text(Data(key ?? self.key).base64EncodedString()),
      "contentDigest": .text(Self.sha256(bytes)), "thumbnailDigest": thumbnail.map { .text(Self.sha256($0)) } ?? .null,
    ]
    #expect(try await records.results([Operation.create("Picture", newUuid(), fields)]) == ["accepted"])
  }

  /// Sends bytes under the name of the content, and returns the status and the type of the last response.
  private func send(_ bytes: [UInt8], by client: FileClient, _ variant: String = "full") async throws -> (Int, String) {
    let begun = try await client.begin(bytes.count, as: content, variant)
    guard begun.status == 201 else { return (begun.status, begun.type) }
    let response = try await client.patch(begun.location, at: 0, bytes)
    if response.status == 422 { #expect(try await client.request("HEAD", begun.location).status == 404) }
    return (response.status, response.type)
  }

  private func held(_ variant: String = "full") async throws -> FileDigestsResponse.Held? {
    let name = "\(content)/\(variant)"
    let response = try await records.request("POST", "/v1/files/digests", ["files": [.text(name)]])
    #expect(response.status == 200)
    return try FileDigestsResponse(wire: response.json).files[name]
  }

  private func sealed(_ bytes: [UInt8], key: [UInt8]? = nil) throws -> [UInt8] {
    let path = folder.path + "/" + newUuid()
    var key = key ?? self.key
    let writer = try SealedFileWriter(
      creating: path, key: try SealingKey(wiping: &key),
      identity: try SealedFileIdentity(contentUuid: content, variant: .full))
    try writer.append(bytes)
    _ = try writer.finish()
    return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  @Test("Bytes that are not the content of the record are refused, encrypted or not, and the right ones are taken")
  func otherBytesAreRefused() async throws {
    let bytes = bytes(5_000)
    try await name(bytes)
    let mismatch = "urn:fieldvault:content-mismatch"
    for wrong in [
      [9, 9, 9], Array(bytes.dropLast()), try sealed([1]), try sealed(bytes, key: .init(repeating: 8, count: 32)),
    ] {
      #expect(try await send(wrong, by: bo) == (422, mismatch))
      #expect(try await held() == nil)
    }
    let right = try sealed(bytes)
    #expect(try await send(right, by: ada) == (204, ""))
    #expect(
      try await held()
        == .init(byteCount: Int64(right.count), sha256: Self.sha256(right), contentDigest: Self.sha256(bytes)))
    #expect(try await send(bytes, by: bo) == (409, "urn:fieldvault:content-exists"))
    await server.stop()
  }

  @Test("Bytes that came before the record make way when they are another content")
  func bytesBeforeTheRecord() async throws {
    #expect(try await send([9, 9, 9], by: bo) == (204, ""))
    #expect(try await held()?.sha256 == Self.sha256([9, 9, 9]))
    #expect(try await send([1, 2, 3, 4], by: ada) == (409, "urn:fieldvault:content-exists"))
    try await name([1, 2, 3, 4])
    #expect(try await send([1, 2, 3, 4], by: ada) == (204, ""))
    #expect(try await ada.fetch(content).body == [1, 2, 3, 4])
    // Bytes that are the content stay.
    #expect(try await send([1, 2, 3, 4], by: bo) == (409, "urn:fieldvault:content-exists"))
    await server.stop()
  }

  @Test("A later record of another member cannot change a content")
  func laterRecords() async throws {
    try await name([1, 2, 3, 4])
    try await name([9, 9, 9], key: .init(repeating: 8, count: 32))
    #expect(try await send([9, 9, 9], by: bo).0 == 422)
    #expect(try await send([1, 2, 3, 4], by: ada) == (204, ""))
    await server.stop()
  }

  @Test("A file in a format that the server does not support gives way to a file that is the content of the record")
  func unsupportedFormat() async throws {
    let bytes = bytes(5_000)
    try await name(bytes)
    let right = try sealed(bytes)
    var newer = right
    newer[8] = 2
    #expect(try await send(newer, by: bo) == (204, ""))
    #expect(try await held() == .init(byteCount: Int64(newer.count), sha256: Self.sha256(newer), contentDigest: nil))
    // A device with a newer version may have sent it, so another file without proof does not replace it.
    #expect(try await send(newer + [0], by: ada) == (409, "urn:fieldvault:content-exists"))
    #expect(try await ada.fetch(content).body == newer)
    #expect(try await send(right, by: ada) == (204, ""))
    #expect(try await held()?.contentDigest == Self.sha256(bytes))
    #expect(try await ada.fetch(content).body == right)
    #expect(try await send(newer, by: bo) == (409, "urn:fieldvault:content-exists"))
    await server.stop()
  }

  @Test("A thumbnail is compared with its own digest, and one without a digest is taken")
  func thumbnails() async throws {
    try await name([1], thumbnail: [5, 6])
    #expect(try await send([7], by: bo, "thumbnail").0 == 422)
    #expect(try await send([5, 6], by: ada, "thumbnail") == (204, ""))
    #expect(try await held("thumbnail")?.contentDigest == Self.sha256([5, 6]))
    await server.stop()
  }
}
