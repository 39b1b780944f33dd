import CipherSQL
import SQLCipherStorage
import ServerStorage

/// A problem of a server folder.
public struct ServerFolderFinding: Sendable, Equatable {
  /// The path of the file, relative to the folder.
  public let file: String
  /// The problem.
  public let message: String
  /// Whether the bytes of a content are missing, which concerns that content alone.
  public let isMissingContent: Bool
}

extension ServerFolder {
  /// Checks that every database of the folder opens and is intact, and that the bytes of every content exist. A server
  /// may be using the folder. The check changes nothing.
  public func verify() throws -> (summary: BackupSummary, findings: [ServerFolderFinding]) {
    let directory = try ServerDirectory(in: self)
    defer { directory.close() }
    var summary = BackupSummary()
    var findings = try problems(of: directory.database, Self.directoryFile)
    for account in try directory.accounts() {
      summary.accounts += 1
      for kind in databases {
        let file = kind.path(account.folder)
        do {
          let database = try kind.open(account.folder, in: self)
          defer { database.close() }
          findings += try problems(of: database, file)
          if kind.fileName == AccountDatabase.files.fileName {
            findings += try missingContents(account, database, &summary)
          }
        } catch {
          findings.append(ServerFolderFinding(file: file, message: "\(error)", isMissingContent: false))
        }
      }
    }
    return (summary, findings)
  }

  private func problems(of database: Database, _ file: String) throws -> [ServerFolderFinding] {
    try database.read { connection in
      try [IntegrityCheck.indexes, .references].flatMap { try connection.problems(found: $0) }
    }.map { ServerFolderFinding(file: file, message: "\(file): \($0)", isMissingContent: false) }
  }

  private func missingContents(
    _ account: AccountName, _ database: Database, _ summary: inout BackupSummary
  ) throws -> [ServerFolderFinding] {
    let contents = try database.read {
      try $0.fetchRows("SELECT file, byteCount FROM Content", as: String.self, Int64.self)
    }
    var findings: [ServerFolderFinding] = []
    for (name, size) in contents {
      let file = "accounts/\(account.folder)/files/\(name.suffix(2))/\(name)"
      summary.files += 1
      guard Files.size(of: path + "/" + file).map(Int64.init) != size else { continue }
      summary.missing += 1
      findings.append(
        ServerFolderFinding(
          file: file, message: "\(file) is missing or does not have \(size) bytes", isMissingContent: true))
    }
    return findings
  }
}
