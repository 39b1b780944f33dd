import RestorationModel
import SQLCipherStorage
import ServerStorage
import ServerSupport
import TestSupport

/// The folder of a server with one account.
struct OneAccount {
  // A member, because a folder goes with the last reference to it.
  private let folder: TemporaryFolder
  let account = AccountName(name: "one", folder: "00000000000000000000000000000001")

  init() throws { folder = try TemporaryFolder() }

  /// Opens its storage.
  func storage() throws -> EmbeddedStorage {
    try EmbeddedStorage(
      in: try serverFolder(folder.path + "/data", accounts: [account.folder]), schemas: [RestorationSchema.schema],
      accounts: [])
  }
}
