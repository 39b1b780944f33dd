import CipherSQL
import Foundation
import SQLCipherStorage
import ServerStorage
import SyncServer
import TestSupport

/// Returns a new folder of a server with accounts that have no user.
package func serverFolder(_ path: String, accounts: [String]) throws -> ServerFolder {
  let folder = try ServerFolder(path, isCreating: true)
  try ServerDirectory(in: folder).close()
  for account in accounts { try folder.makeAccount(account) }
  return folder
}

/// Returns a new UUID as the wire format writes it.
package func newUuid() -> String { UUID.version7().uuidString.lowercased() }

/// Returns bytes that are the same for the same seed.
package func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var random = Seeded(seed)
  return random.bytes(count)
}

/// Returns the files below a folder that this process has open, without folders, which stay locked while a value uses them.
package func openFiles(in folder: String) throws -> [String] {
  let links = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map { "/proc/self/fd/\($0)" }
  // The descriptor that lists the folder is closed by now.
  let files = links.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: $0) }
  return files.filter { path in
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
    return path.hasPrefix(folder) && !(exists && isFolder.boolValue)
  }.sorted()
}

extension RecordStorage {
  /// Waits for a change after a number of the current epoch.
  package func waitForChange(
    _ account: AccountName, after sequence: Int64, projects: Set<String>?, device: String? = nil, seconds: Int
  ) async throws -> WaitResult {
    let epoch = try await read(account) { try $0.epochs.current }
    return try await waitForChange(
      account,
      ChangeRequest(
        after: ChangePosition(epoch: epoch, sequence: sequence, floor: 0), projects: projects, device: device,
        seconds: seconds))
  }
}
