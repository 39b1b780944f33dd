import CipherSQL
import CSodium
import OfflineStore

/// Keeps files in the folders of their accounts, and what they are in an encrypted database beside them.
///
/// The bytes are kept as they come: devices encrypt them, unless they were told to send them in the clear.
public final class DiskFileStorage: FileStorage {
  private let folder: ServerFolder
  private let accounts = Locked<[String: AccountFiles]>([:])
  private let isClosed = Locked(false)

  private let freeBytes: AccountFiles.FreeBytes

  /// Files in a server's folder.
  public convenience init(in folder: ServerFolder) {
    self.init(in: folder) { Int64(try Files.freeBytes(at: $0)) }
  }

  /// - Parameter freeBytes: how much room the disk has, which tests decide.
  init(in folder: ServerFolder, freeBytes: @escaping AccountFiles.FreeBytes) {
    self.folder = folder
    self.freeBytes = freeBytes
  }

  private func files(_ account: AccountName) throws -> AccountFiles {
    try accounts.withLock { accounts in
      if let files = accounts[account.folder] { return files }
      if isClosed.withLock({ $0 }) { throw ServerError(.busy, "the server is stopping") }
      let parent = "accounts/\(account.folder)"
      let database = try folder.openDatabase("\(parent)/files.db", keyName: "files \(account.folder)", readers: 2)
      let files = try AccountFiles(database, in: "\(folder.path)/\(parent)", freeBytes: freeBytes)
      accounts[account.folder] = files
      return files
    }
  }

  /// The tables of an account's files, which those in an object store share.
  func database(_ account: AccountName) throws -> Database { try files(account).database }

  /// 128 bits that nobody guesses.
  static func newName() -> String {
    _ = sodium_init()
    var bytes = [UInt8](repeating: 0, count: 16)
    randombytes_buf(&bytes, bytes.count)
    return String(unsafeUninitializedCapacity: 32) { text in
      let digits = Array("0123456789abcdef".utf8)
      for (index, byte) in bytes.enumerated() {
        text[index * 2] = digits[Int(byte >> 4)]
        text[index * 2 + 1] = digits[Int(byte & 15)]
      }
      return 32
    }
  }

  // MARK: Uploads

  /// Begins an upload. Its file is made with the first byte.
  public func begin(
    _ account: AccountName, _ upload: NewUpload, quota: Int64, at time: Int64
  ) async throws -> StoredUpload {
    let files = try files(account)
    try files.checkRoom(for: upload.length ?? 0)
    // A content whose bytes were lost makes way.
    _ = try await content(account, upload.name)
    let stored = StoredUpload(
      id: Self.newName(), userId: upload.userId, name: upload.name, length: upload.length, offset: 0,
      metadata: upload.metadata, expiry: upload.expiry, isFinished: false)
    try await files.database.write { connection in
      let writer = FileTablesWriter(connection: connection)
      guard try writer.tables.content(upload.name) == nil else { throw FileRefusal.exists }
      try writer.insert(stored, file: Self.newName())
      try writer.check(upload.userId, quota: quota)
    }
    return stored
  }

  /// An upload.
  public func upload(_ account: AccountName, _ id: String) async throws -> StoredUpload? {
    try await files(account).database.read { try FileTables(connection: $0).upload(id)?.upload }
  }

  /// Says how long an upload becomes.
  public func setLength(
    _ account: AccountName, _ id: String, to length: Int64, quota: Int64
  ) async throws -> StoredUpload {
    let files = try files(account)
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
    let files = try files(account)
    func row() async throws -> FileTables.UploadRow {
      guard let row = try await files.database.read({ try FileTables(connection: $0).upload(id) }) else {
        throw FileRefusal.gone
      }
      return row
    }
    guard let descriptor = try files.openForWriting(try await row().file) else { throw FileRefusal.busy }
    // Read again: now that the file is locked nobody else changes the row.
    let writer: DiskUploadWriter
    do {
      let row = try await row()
      if try AccountFiles.size(of: descriptor) > row.upload.offset { try await files.database.buryFailedCommits() }
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
    try await removeUpload(id, try files(account), expiredAt: nil)
  }

  /// Removes uploads that have expired.
  public func expire(_ account: AccountName, at time: Int64) async throws {
    let files = try files(account)
    for id in try await files.database.read({ try FileTables(connection: $0).expired(at: time) }) {
      do {
        try await removeUpload(id, files, expiredAt: time)
      } catch FileRefusal.busy {
        // Its next commit gives it more time.
        continue
      }
    }
  }

  /// - Parameter time: with one, an upload that has got more time meanwhile stays.
  private func removeUpload(_ id: String, _ files: AccountFiles, expiredAt time: Int64?) async throws {
    guard let row = try await files.database.read({ try FileTables(connection: $0).upload(id) }) else { return }
    let descriptor = try files.openForRemoval(row.file)
    defer { if let descriptor { DiskUploadWriter.close(descriptor) } }
    // Locked from here on, so that nobody finishes the upload any more. What was read before may be of the past and decides
    // nothing, or the bytes of a content that was finished meanwhile would go with its upload.
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

  /// A content; one whose bytes are not all there, as after a backup was put back in part, is none, and makes way.
  public func content(_ account: AccountName, _ name: ContentName) async throws -> StoredContent? {
    try await open(account, name)?.0
  }

  /// The bytes of a content.
  public func open(_ account: AccountName, _ name: ContentName) async throws -> (StoredContent, OpenedFile)? {
    let files = try files(account)
    guard let row = try await files.database.read({ try FileTables(connection: $0).content(name) }) else { return nil }
    guard let opened = try files.openForReading(row.file), opened.size == row.content.byteCount else {
      try await remove(row.file, files)
      return nil
    }
    return (row.content, opened.file)
  }

  /// Removes a content.
  public func removeContent(_ account: AccountName, _ name: ContentName) async throws {
    let files = try files(account)
    guard let row = try await files.database.read({ try FileTables(connection: $0).content(name) }) else { return }
    try await remove(row.file, files)
  }

  private func remove(_ file: String, _ files: AccountFiles) async throws {
    try await files.database.write { try FileTablesWriter(connection: $0).removeContent(file: file) }
    try files.remove(file)
  }

  /// How many bytes count towards the quota of a user.
  public func usedBytes(_ account: AccountName, by userId: Int64) async throws -> Int64 {
    try await files(account).database.read { try FileTables(connection: $0).usedBytes(userId) }
  }

  /// Removes contents that no record needs, and files without a row.
  public func sweep(_ account: AccountName, _ rule: SweepRule) async throws {
    let files = try files(account)
    var last = ""
    while true {
      let contents = try await files.database.read { [last] in
        try FileTables(connection: $0).contents(after: last, limit: 500)
      }
      guard let end = contents.last else { break }
      last = end
      let used = try await rule.inUse(contents)
      let removed = try await files.database.write { connection in
        let writer = FileTablesWriter(connection: connection)
        return try contents.flatMap { content -> [String] in
          guard used.contains(content) else {
            return try writer.removeUnused(content, neverUsedBefore: rule.neverUsedBefore)
          }
          try writer.markUsed(content)
          return []
        }
      }
      for file in removed { try files.remove(file) }
    }
    try await files.sweepOrphans()
  }

  /// Closes all databases; calls under way finish.
  public func close() {
    isClosed.withLock { $0 = true }
    for files in accounts.withLock({ Array($0.values) }) { files.database.close() }
  }
}
