import CipherSQL
import Platform
import SchemaModel
import ServerStorage

/// A database of a server folder with the name from which its key is derived.
struct KeyedFile {
  /// The path in the folder.
  let path: String
  let keyName: String
}

/// The databases of one account, or the directory.
struct KeyedFiles {
  /// The account; `nil` for the directory.
  let account: AccountName?
  let files: [KeyedFile]
}

extension ServerFolder {
  /// Returns all databases of the folder, first the directory. A database that is missing because the deletion of its account has
  /// begun is left out.
  func keyedFiles() throws -> [KeyedFiles] {
    let directory = try ServerDirectory(in: self)
    defer { directory.close() }
    let deletions = try directory.deletions()
    let accounts = try (directory.accounts() + deletions).map { account in
      let files = databases.map { KeyedFile(path: $0.path(account.folder), keyName: $0.keyName(account.folder)) }
      let isDeleted = deletions.contains(account)
      return KeyedFiles(account: account, files: files.filter { !isDeleted || Files.exists("\(path)/\($0.path)") })
    }
    let file = KeyedFile(path: Self.directoryFile, keyName: ServerDirectory.keyName)
    return [KeyedFiles(account: nil, files: [file])] + accounts
  }

  /// Returns the size of a database with its write-ahead log, in bytes.
  func fileBytes(_ file: KeyedFile) -> Int {
    let target = "\(path)/\(file.path)"
    return (Files.size(of: target) ?? 0) + (Files.size(of: target + "-wal") ?? 0)
  }

  /// Checks that copies of databases fit the file system.
  /// - Parameters:
  ///   - bytes: the size of the databases.
  ///   - purpose: the beginning of the message, such as "a copy requires".
  /// - Throws: `VaultError` with `noSpace`.
  func requireSpace(for bytes: Int, _ freeBytes: (_ folder: String) throws -> Int, _ purpose: String) throws {
    // A copy has at most the size of its original. The rest is for logs.
    let (needed, free) = (bytes + bytes / 50 + (1 << 20), try freeBytes(path))
    guard free >= needed else {
      throw VaultError(
        .noSpace, "\(purpose) \(needed) bytes; \(free) are free in \(path)",
        hint: "free some space; nothing was changed")
    }
  }
}
