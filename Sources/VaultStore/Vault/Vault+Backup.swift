import CipherSQL
import Platform
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Vault {
  /// Writes a consistent snapshot of the whole vault to one encrypted file. This and other processes can use the vault
  /// during the backup.
  ///
  /// The backup opens with the key slots that the keyring has now, independent of later changes to the vault. It
  /// replaces an existing backup by one rename. **After a crash** the path holds the complete old or the complete
  /// new backup.
  /// - Parameter progress: receives the bytes that are done and the bytes in total. It may throw to cancel the
  ///   backup.
  /// - Returns: the size of the backup in bytes.
  /// - Throws: ``VaultError`` with `alreadyExists` when the path holds anything but a backup, with `busy`,
  ///   `noSpace` or `cannotWrite`; `SQLError` with `busy` when a long-running read prevents the checkpoint.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func backUp(
    to path: String, progress: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws -> Int {
    let target = try BackupTarget(path)
    // The lock keeps the files that the database references until they are copied.
    let files = try AttachmentLock(sharing: layout)
    defer { withExtendedLifetime(files) {} }
    do {
      let bytes = try database.withUnchangingFile { file, size in
        let (keys, source) = try keyring(ofFile: file)
        return try write(keys, source, size, to: target.draft, progress)
      }
      try target.publish()
      return bytes
    } catch {
      target.abandon()
      throw error
    }
  }

  /// Returns the current keyring and the opened database file that it names. The lock prevents a change between the
  /// two reads.
  private func keyring(ofFile path: String) throws -> (UnlockedKeyring, OpenFile) {
    let held = try KeyringLock(folder: layout.folder)
    defer { withExtendedLifetime(held) {} }
    let keys = try newestKeyring()
    guard layout.database(generation: keys.keyring.generation.number) == path else {
      throw VaultError(.busy, "another process changed the key of this vault", hint: "try again")
    }
    return (keys, try OpenFile(reading: path))
  }

  private func write(
    _ keys: UnlockedKeyring, _ databaseFile: OpenFile, _ databaseBytes: Int, to file: OpenFile,
    _ progress: (Int, Int) throws -> Void
  ) throws -> Int {
    let attachments = try attachmentFiles()
    let total = databaseBytes + attachments.reduce(0) { $0 + $1.size }
    var done = 0
    func advance(_ count: Int) throws {
      done += count
      try progress(done, total)
    }
    let writer = try BackupWriter(file, keyring: keys.keyring.serialized(), key: try keys.backupKey())
    try writer.add(BackupFormat.databaseName, databaseFile, size: databaseBytes, advance)
    for attachment in attachments {
      try writer.add(
        attachment.name, try OpenFile(reading: layout.folder + "/" + attachment.name), size: attachment.size, advance)
    }
    try writer.finish()
    return writer.byteCount
  }

  /// Returns the encrypted files with their names in the vault and their sizes.
  private func attachmentFiles() throws -> [(name: String, size: Int)] {
    var files: [(name: String, size: Int)] = []
    for folder in try Files.names(in: layout.attachments) where Files.isFolder(layout.attachments + "/" + folder) {
      for file in try Files.names(in: layout.attachments + "/" + folder) {
        let name = StoredFile.folder + folder + "/" + file
        guard BackupFormat.isAcceptable(name), let size = Files.size(of: layout.folder + "/" + name) else { continue }
        files.append((name, size))
      }
    }
    return files
  }
}

/// A backup that is written to a draft beside its final path.
private final class BackupTarget {
  let draft: OpenFile
  private let path: String

  init(_ path: String) throws {
    self.path = path
    if Files.exists(path) { try Self.refuseOther(path) }
    let name = Self.draftName(of: path)
    // The lock serialises looking for a draft, removing it and creating another one.
    let makers = try KeyringLock(folder: Files.parent(of: path))
    defer { withExtendedLifetime(makers) {} }
    if Files.exists(name) {
      // A killed backup left the draft, unless its lock shows that another process is writing it.
      let old = try OpenFile(reading: name)
      guard old.lock() else {
        throw VaultError(.busy, "another process is writing \(path)", hint: "wait until it has finished")
      }
      try Files.removeTree(name)
      withExtendedLifetime(old) {}
    }
    draft = try OpenFile(creating: name)
    guard draft.lock() else {
      throw VaultError(.busy, "another process is writing \(path)", hint: "wait until it has finished")
    }
  }

  func publish() throws {
    guard rename(draft.path, path) == 0 else { throw FileError.last("create", path) }
    try Files.syncFolder(Files.parent(of: path))
  }

  /// Removes the draft after a failure. Errors are ignored in favour of the original failure. A later backup to the
  /// same path removes the rest.
  func abandon() { try? Files.removeTree(draft.path) }

  /// Refuses a path that holds anything but a backup, because only a backup may be replaced.
  private static func refuseOther(_ path: String) throws {
    var mark = [UInt8](repeating: 0, count: BackupFormat.magic.count)
    let isBackup =
      try !Files.isFolder(path)
      && mark.withUnsafeMutableBytes { try OpenFile(reading: path).fill($0) } == mark.count
    guard isBackup, mark == BackupFormat.magic else {
      throw VaultError(
        .alreadyExists, "\(path) already exists and is not a backup",
        hint: "choose another name; nothing is overwritten")
    }
  }

  private static func draftName(of path: String) -> String {
    Files.parent(of: path) + "/." + Files.name(of: path) + ".making"
  }
}
