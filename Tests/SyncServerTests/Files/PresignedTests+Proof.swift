import Foundation
import RawNetwork
import SealedFiles
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import ServerStorage

extension PresignedTests {
  @Test("An object that is the content of the record replaces an object or a file whose format is not supported")
  func unsupportedFormat() async throws {
    let process = try ObjectStoreProcess()
    let folder = try TemporaryFolder()
    let account = AccountName(name: "one", folder: "00000000000000000000000000000001")
    let disk = DiskFileStorage(in: try serverFolder(folder.path + "/data", accounts: [account.folder]))
    let files = ObjectFiles(
      store: try store(process), database: EmbeddedObjects(disk), log: .silent, environment: .system)
    let (plain, key) = (bytes(5_000), [UInt8](repeating: 7, count: 32))
    let claims = [ContentClaim(key: key, digest: Self.sha256(plain))]
    func sealed(_ name: ContentName, version: UInt8) throws -> [UInt8] {
      let path = folder.path + "/" + newUuid()
      var key = key
      let writer = try SealedFileWriter(
        creating: path, key: try SealingKey(wiping: &key),
        identity: try SealedFileIdentity(contentUuid: name.content, variant: .full))
      try writer.append(plain)
      _ = try writer.finish()
      var file = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
      file[8] = version
      return file
    }
    func upload(_ file: [UInt8], as name: ContentName) async throws {
      let new = ObjectFiles.New(
        userId: 1, name: name, byteCount: Int64(file.count), sha256: PresignedClient.digest(file),
        contentType: "application/octet-stream", isProvable: true)
      let address = try await files.begin(account, new, quota: .max, expiry: 1_000)
      let response = JSONResponse(status: 200, contentType: "", headers: [:], json: address.wire)
      #expect(try await send(response, file).status == 200)
      try await files.confirm(account, name, by: 1, try #require(address.upload), at: 100, claims: claims)
    }

    let stored = ContentName(content: newUuid(), variant: .full)
    try await upload(try sealed(stored, version: 2), as: stored)
    #expect(try await files.digest(account, stored)?.contentDigest == nil)
    let onDisk = ContentName(content: newUuid(), variant: .full)
    let newer = try sealed(onDisk, version: 2)
    let new = NewUpload(userId: 1, name: onDisk, length: Int64(newer.count), metadata: "", expiry: 1_000)
    let begun = try await disk.begin(account, new, quota: .max, at: 0)
    let writer = try await disk.openWriter(account, begun.id)
    try newer.withUnsafeBytes { try writer.append($0) }
    try writer.commit(at: 0, expiry: 1_000, quota: .max, claims: claims)
    writer.close()
    for name in [stored, onDisk] {
      // Another file without proof does not replace it.
      let other = try sealed(name, version: 3)
      await #expect(throws: FileRefusal.exists) { try await upload(other, as: name) }
      try await upload(try sealed(name, version: 1), as: name)
      #expect(try await files.digest(account, name)?.contentDigest == Self.sha256(plain))
    }
    #expect(try await disk.content(account, onDisk) == nil)
    disk.close()
  }

  private static func sha256(_ bytes: [UInt8]) -> String {
    let digest = ContentDigest()
    bytes.withUnsafeBytes { digest.add($0) }
    return digest.finish()
  }
}
