import CipherSQL
import Foundation
import RestorationModel
import ServerSupport
import TestSupport
import Testing

@testable import SQLCipherStorage

@Suite struct EmbeddedStorageTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("The embedded storage keeps each guarantee of record storage", arguments: StorageConformance.names)
  func keeps(_ name: String) async throws {
    let conformance = StorageConformance {
      try EmbeddedStorage(
        in: try serverFolder(
          folder.file(UUID().uuidString), accounts: StorageConformance.accounts.map(\.folder)),
        schemas: [RestorationSchema.schema], accounts: [])
    }
    try await #require(conformance.all.first { $0.name == name }).check()
  }
}
