import CipherSQL
import Foundation
import VaultStore

/// Counts the transfers that the death of a device interrupted: those with the state running when its vault is opened
/// again.
enum CutTransfers {
  private static func path(_ folder: String) -> String { folder + "/cut-transfers" }

  /// Stores the running transfers of the previous process.
  static func note(_ vault: Vault, _ folder: String) throws {
    let lines = try vault.database.read { connection in
      try connection.fetch(
        """
        SELECT direction || ' ' || transferNumber || ' ' || coalesce(lastAttemptAt, '') || char(10)
        FROM AttachmentTransfer WHERE status = 'running'
        """, as: String.self)
    }
    guard !lines.isEmpty else { return }
    var text = FileManager.default.contents(atPath: path(folder)) ?? Data()
    text.append(Data(lines.joined().utf8))
    try text.write(to: URL(filePath: path(folder)))
  }

  /// How many there were. One that was found by two processes counts once.
  static func count(_ folder: String) -> (uploads: Int, downloads: Int) {
    let text = FileManager.default.contents(atPath: path(folder)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let lines = Set(text.split(separator: "\n"))
    let uploads = lines.filter { $0.hasPrefix("upload") }.count
    return (uploads, lines.count - uploads)
  }
}
