import CipherSQL
import RestorationModel
import Testing

@testable import SQLCipherStorage
@testable import SyncServer

@Suite struct EmbeddedStorageTests {
  // A folder goes with the last reference to it, and accounts are opened when they are first used.
  private static let folders = Locked<[TemporaryFolder]>([])

  private static let checks = StorageConformance {
    let folder = try TemporaryFolder()
    folders.withLock { $0.append(folder) }
    return try EmbeddedStorage(
      in: try serverFolder(folder.path + "/data", accounts: ["1", "2"].map { String(repeating: "0", count: 31) + $0 }),
      schemas: [RestorationSchema.schema], accounts: [])
  }

  @Test(arguments: checks.all.map(\.name)) func holds(_ name: String) async throws {
    try await #require(Self.checks.all.first { $0.name == name }).check()
  }
}
