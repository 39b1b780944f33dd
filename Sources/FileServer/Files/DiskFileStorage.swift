import CipherSQL
import HTTPServer
import Platform
import SQLCipherStorage
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Stores files in the folders of their accounts, and their descriptions in an encrypted database next to them.
///
/// The bytes are stored as received. Devices encrypt them, unless the user chose to send them decrypted.
public final class DiskFileStorage: FileStorage {
  private let folder: ServerFolder
  private let accounts: AccountCache<AccountFiles>
  /// The times at which uploads of accounts expire next, as read after the last use of each account.
  private let expiries = Locked<[String: Int64]>([:])

  /// Creates the storage of files in a server's folder.
  /// - Parameter openAccounts: the number of accounts whose databases stay open without a request, until they have been
  ///   idle for a minute.
  public convenience init(in folder: ServerFolder, openAccounts: Int = EmbeddedStorage.usualOpenAccounts) {
    self.init(in: folder, openAccounts: openAccounts) { Int64(try Files.freeBytes(at: $0)) }
  }

  /// - Parameter freeBytes: returns the free space of the disk; tests inject their own function.
  init(
    in folder: ServerFolder, openAccounts: Int = EmbeddedStorage.usualOpenAccounts,
    freeBytes: @escaping AccountFiles.FreeBytes
  ) {
    self.folder = folder
    accounts = AccountCache(
      limit: openAccounts, clock: folder.environment.clock,
      close: { $0.database.close(waitingAtMost: AccountDatabase.closeLimit) }
    ) { account in
      let database = try AccountDatabase.files.open(account.folder, in: folder)
      return try AccountDatabase.files.store(over: database, of: account.folder, in: folder) { path, place in
        try AccountFiles(database, at: place, in: Files.parent(of: path), freeBytes: freeBytes)
      }
    }
  }

  private func files(_ account: AccountName) async throws -> AccountFiles {
    // The caller may begin an upload.
    expiries.withLock { $0[account.folder] = nil }
    return try await unusedFiles(account)
  }

  /// Returns the files for a reader that begins no upload.
  private func unusedFiles(_ account: AccountName) async throws -> AccountFiles {
    let files = try await accounts.store(of: account)
    try files.place.check()
    return files
  }

  /// Returns the database of an account's files, also for files in an object store.
  package func database(_ account: AccountName) async throws -> Database { try await files(account).database }

  /// Returns the text of 128 random bits.
  static func newName(_ random: RandomSource) -> String { HexText.text(random.bytes(16)) }

  // MARK: Uploads

  /// Begins an upload. Its file is created with the first byte.
  public func begin(
    _ account: AccountName, _ upload: NewUpload, quota: Int64, at time: Int64
  ) async throws -> StoredUpload {
    let files = try await files(account)
    try files.checkRoom(for: upload.length ?? 0)
    try await files.requireMarker()
    // Marks a content whose bytes are missing, so that this upload may replace it.
    _ = try await content(account, upload.name)
    let random = folder.environment.random
    let stored = StoredUpload(
      id: Self.newName(random), userId: upload.userId, name: upload.name, length: upload.length, offset: 0,
      metadata: upload.metadata, expiry: upload.expiry, isFinished: false)
    try await files.database.write { connection in
      let writer = FileTablesWriter(connection: connection)
      if let known = try writer.tables.content(upload.name), !known.isReplaceable(proven: upload.isProvable) {
        throw FileRefusal.exists
      }
      try writer.insert(stored, file: Self.newName(random))
      try writer.check(upload.userId, quota: quota)
    }
    return stored
  }

  /// Returns an upload; `nil` if it does not exist.
  public func upload(_ account: AccountName, _ id: String) async throws -> StoredUpload? {
    try await files(account).database.read { try FileTables(connection: $0).upload(id)?.upload }
  }

  /// Sets the length of an upload.
  public func setLength(
    _ account: AccountName, _ id: String, to length: Int64, quota: Int64
  ) async throws -> StoredUpload {
    let files = try await files(account)
    try files.checkRoom(for: length)
    return try await files.database.write { connection in
      let writer = FileTablesWriter(connection: connection)
      try writer.setLength(id, to: length)
      guard let upload = try writer.tables.upload(id)?.upload else { throw FileRefusal.gone }
      try writer.check(upload.userId, quota: quota)
      return upload
    }
  }

  /// Opens an upload for writing at its offset.
  public func openWriter(
    _ account: AccountName, _ id: String, reserving bytes: Int64, quota: Int64
  ) async throws -> any UploadWriting {
    let files = try await files(account)
    func row() async throws -> FileTables.UploadRow {
      guard let row = try await files.database.read({ try FileTables(connection: $0).upload(id) }) else {
        throw FileRefusal.gone
      }
      return row
    }
    try await files.requireMarker()
    guard let descriptor = try files.openForWriting(try await row().file) else { throw FileRefusal.busy }
    // Reads the row again: after the file is locked, no other writer changes it.
    let writer: DiskUploadWriter
    do {
      let row = try await row()
      if try AccountFiles.size(of: descriptor) > row.upload.offset { try await files.database.flushFailedCommits() }
      writer = try DiskUploadWriter(row, files, descriptor, expecting: bytes)
    } catch {
      DiskUploadWriter.close(descriptor)
      throw error
    }
    do {
      try await writer.begin(reserving: bytes, quota: quota)
      return writer
    } catch {
      writer.close()
      throw error
    }
  }

  /// Removes an upload, and its bytes unless they became a content.
  public func removeUpload(_ account: AccountName, _ id: String) async throws {
    try await removeUpload(id, try await files(account), expiredAt: nil)
  }

  /// Removes uploads that have expired.
  public func expire(_ account: AccountName, at time: Int64) async throws {
    let files = try await files(account)
    for id in try await files.database.read({ try FileTables(connection: $0).expired(at: time) }) {
      do {
        try await removeUpload(id, files, expiredAt: time)
      } catch FileRefusal.busy {
        // Its next commit gives it more time.
        continue
      }
    }
  }

  /// Returns whether an upload may have expired. Opens no account. Without an object
  /// store, an account without the folder of its files has no upload.
  public func mayExpire(_ account: AccountName, at time: Int64, hasObjects: Bool) -> Bool {
    if let known = expiries.withLock({ $0[account.folder] }) { return known <= time }
    return hasObjects || Files.exists("\(folder.path)/accounts/\(account.folder)/files")
  }

  /// Reads when the next upload of an account expires.
  public func readExpiry(_ account: AccountName, at time: Int64) async throws {
    let next = try await unusedFiles(account).database.read { try FileTables(connection: $0).nextExpiry() }
    // Limited, because a request that had the account before this call may still begin an upload.
    expiries.withLock { $0[account.folder] = min(next ?? .max, time + Self.expiryLifetime) }
  }

  /// The time for which a known expiry is used: six hours, in milliseconds.
  private static let expiryLifetime: Int64 = 6 * 3_600_000

  /// - Parameter time: if not `nil`, an upload that expires later is not removed.
  private func removeUpload(_ id: String, _ files: AccountFiles, expiredAt time: Int64?) async throws {
    guard let row = try await files.database.read({ try FileTables(connection: $0).upload(id) }) else { return }
    let descriptor = try files.openForRemoval(row.file)
    defer { if let descriptor { DiskUploadWriter.close(descriptor) } }
    // Locked from here on, so that no writer can finish the upload. Facts that were read before decide nothing.
    // Otherwise the bytes of a content that was finished in the meantime would be removed with its upload.
    let file = try await files.database.write { connection -> String? in
      let writer = FileTablesWriter(connection: connection)
      guard let upload = try writer.tables.upload(id)?.upload, time.map({ upload.expiry <= $0 }) ?? true else {
        return nil
      }
      try writer.removeUpload(id)
      return upload.isFinished ? nil : row.file
    }
    if let file { try files.remove(file) }
  }

  // MARK: Contents

  /// Returns a content; `nil` if it does not exist.
  public func content(_ account: AccountName, _ name: ContentName) async throws -> StoredContent? {
    try await open(account, name)?.0
  }

  /// Opens a content. If its bytes are missing or have another length, it is only marked, because they may reappear.
  /// - Throws: ``ServerError`` with `disk` if another volume is mounted.
  public func open(_ account: AccountName, _ name: ContentName) async throws -> (StoredContent, OpenedFile)? {
    let files = try await files(account)
    guard let row = try await files.database.read({ try FileTables(connection: $0).content(name) }), !row.isRefuted
    else { return nil }
    guard let opened = try files.openForReading(row.file), opened.size == row.content.byteCount else {
      try await files.requireMarker()
      let now = folder.environment.now
      try await files.database.write { try FileTablesWriter(connection: $0).markMissing(row.file, at: now) }
      return nil
    }
    if row.isMissing { try await files.database.write { try FileTablesWriter(connection: $0).markFound(row.file) } }
    return (row.content, opened.file)
  }

  /// Returns the digests of a content's bytes, which are hashed once.
  public func digest(_ account: AccountName, _ name: ContentName) async throws -> StoredDigest? {
    guard let (content, opened) = try await open(account, name) else { return nil }
    let files = try await files(account)
    let row = try await files.database.read { try FileTables(connection: $0).content(name) }
    guard let row, row.file == content.tag else { return nil }
    if let sha256 = row.sha256 {
      return StoredDigest(byteCount: content.byteCount, sha256: sha256, contentDigest: row.contentDigest)
    }
    let proof = try VerifiedContent(
      ofFileAt: files.path(of: row.file), name, sha256: try VerifiedContent.sha256(of: opened.descriptor), claims: [])
    try await files.database.write { try FileTablesWriter(connection: $0).keep(proof, of: row.file) }
    return StoredDigest(byteCount: content.byteCount, sha256: proof.sha256, contentDigest: nil)
  }

  /// Compares a content that was never compared with the claims of its records.
  public func prove(_ account: AccountName, _ name: ContentName, _ claims: [ContentClaim]) async throws {
    guard claims.contains(where: { $0.digest(of: name.variant) != nil }) else { return }
    guard let digest = try await digest(account, name), digest.contentDigest == nil else { return }
    let files = try await files(account)
    guard let row = try await files.database.read({ try FileTables(connection: $0).content(name) }) else { return }
    let proof = try VerifiedContent(ofFileAt: files.path(of: row.file), name, sha256: digest.sha256, claims: claims)
    try await files.database.write { try FileTablesWriter(connection: $0).keep(proof, of: row.file) }
  }

  /// Writes a content to a new file, decrypted if it is encrypted.
  /// - Returns: `false` if the content is not on the disk, or the key does not open it.
  package func copyContent(
    _ account: AccountName, _ name: ContentName, key: [UInt8], to path: String
  ) async throws -> Bool {
    guard let (content, opened) = try await open(account, name) else { return false }
    let stored = try await files(account).path(of: content.tag)
    return try await offload {
      defer { withExtendedLifetime(opened) {} }
      return try PlainContent.write(fileAt: stored, name, key: key, to: path)
    }
  }

  /// Removes a content.
  public func removeContent(_ account: AccountName, _ name: ContentName) async throws {
    let files = try await files(account)
    guard let row = try await files.database.read({ try FileTables(connection: $0).content(name) }) else { return }
    try await remove(row.file, files)
  }

  private func remove(_ file: String, _ files: AccountFiles) async throws {
    try await files.database.write { try FileTablesWriter(connection: $0).removeContent(file: file) }
    try files.remove(file)
  }

  /// Returns the number of bytes that count towards the quota of a user.
  public func usedBytes(_ account: AccountName, by userId: Int64) async throws -> Int64 {
    try await files(account).database.read { try FileTables(connection: $0).usedBytes(userId) }
  }

  /// Marks contents that no record needs and files without a row, checks missing contents again, and removes the files
  /// that ``FileSweep`` allows.
  public func sweep(_ account: AccountName, _ rule: SweepRule) async throws {
    let files = try await files(account)
    try await markUnused(files, rule)
    guard try await files.carriesMarker() else { return }
    var candidates: [FileSweep.Candidate] = []
    for row in try await files.database.read({ try FileTables(connection: $0).missingContents() }) {
      let isMissing = try !files.isWhole(row.file, row.byteCount)
      if !isMissing { try await files.database.write { try FileTablesWriter(connection: $0).markFound(row.file) } }
      candidates.append(.init(row.file, .missing, since: row.since, isConfirmed: isMissing))
    }
    let orphans = try await files.filesWithoutRow()
    let since = try await files.database.write { connection in
      let writer = FileTablesWriter(connection: connection)
      try writer.keepOrphans(orphans, at: rule.time)
      return try writer.tables.orphans()
    }
    candidates += orphans.map { .init($0, .orphaned, since: since[$0] ?? rule.time, isConfirmed: true) }
    let unused = try await files.database.read {
      try FileTables(connection: $0).unusedContents(since: rule.time - FileSweep.grace)
    }
    candidates += unused.map { .init($0.file, .unused, since: $0.since, isConfirmed: true) }
    let total = try await files.database.read { try FileTables(connection: $0).fileCount() }
    for file in FileSweep.removable(candidates, ofFiles: total, hasMarker: true, at: rule.time) {
      try await files.database.write { connection in
        let writer = FileTablesWriter(connection: connection)
        try file.reason == .orphaned ? writer.removeOrphan(file.file) : writer.removeContent(file: file.file)
      }
      try files.remove(file.file)
    }
  }

  /// Marks the contents that no record needs, and unmarks contents that a record needs again.
  private func markUnused(_ files: AccountFiles, _ rule: SweepRule) async throws {
    var last = ""
    while true {
      let contents = try await files.database.read { [last] in
        try FileTables(connection: $0).contents(after: last, limit: 500)
      }
      guard let end = contents.last else { return }
      last = end
      let used = try await rule.inUse(contents)
      try await files.database.write { connection in
        let writer = FileTablesWriter(connection: connection)
        for content in contents {
          if used.contains(content) {
            try writer.markUsed(content)
          } else {
            try writer.markUnused(content, neverUsedBefore: rule.neverUsedBefore, at: rule.time)
          }
        }
      }
    }
  }

  /// Closes all databases. Transactions under way finish first; closing waits at most ``AccountDatabase/closeLimit``
  /// for them.
  public func close() { _ = accounts.closeAll(waitingAtMost: AccountDatabase.closeLimit) }
}
