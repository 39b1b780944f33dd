import CipherSQL
import ServerStorage

/// The tables of an account's files, within one transaction.
package struct FileTables {
  let connection: Connection

  package init(connection: Connection) { self.connection = connection }

  struct UploadRow {
    var upload: StoredUpload
    let file: String
  }

  struct ContentRow: ComparedFile {
    let content: StoredContent
    let file: String
    /// SHA-256 of the stored bytes, in hexadecimal digits.
    let sha256: String?
    /// The content's digest that the key of a record has verified.
    let contentDigest: String?
    let isRefuted: Bool
    let isMissing: Bool
  }

  func upload(_ id: String) throws -> UploadRow? {
    try connection.withStatement(
      """
      SELECT userId, content, variant, length, received, metadata, expiresAt, isFinished, file FROM Upload WHERE id = ?
      """
    ) { statement in
      try statement.bind(id, at: 1)
      guard try statement.step() else { return nil }
      let row = statement.row
      let upload = StoredUpload(
        id: id, userId: try row.decode(at: 0),
        name: ContentName(content: try row.decode(at: 1), variant: try Self.variant(row.decode(at: 2))),
        length: try row.decode(at: 3), offset: try row.decode(at: 4), metadata: try row.decode(at: 5),
        expiry: try row.decode(at: 6), isFinished: try row.decode(at: 7))
      return UploadRow(upload: upload, file: try row.decode(at: 8))
    }
  }

  func content(_ name: ContentName) throws -> ContentRow? {
    try connection.withStatement(
      """
      SELECT byteCount, file, sha256, contentDigest, isRefuted, missingSince IS NOT NULL FROM Content
      WHERE content = ? AND variant = ?
      """
    ) { statement in
      try statement.bind(name.content, at: 1)
      try statement.bind(name.variant.rawValue, at: 2)
      guard try statement.step() else { return nil }
      let file: String = try statement.row.decode(at: 1)
      // The name in the folder was made for this content alone, so it tells it from all others.
      return ContentRow(
        content: StoredContent(name: name, byteCount: try statement.row.decode(at: 0), tag: file), file: file,
        sha256: try statement.row.decode(at: 2), contentDigest: try statement.row.decode(at: 3),
        isRefuted: try statement.row.decode(at: 4), isMissing: try statement.row.decode(at: 5))
    }
  }

  func usedBytes(_ userId: Int64) throws -> Int64 {
    try connection.fetchOne("SELECT bytes FROM FileUsage WHERE userId = \(userId)", as: Int64.self) ?? 0
  }

  /// Returns the names of all files of the tables.
  func files() throws -> Set<String> {
    Set(try connection.fetch("SELECT file FROM Upload UNION SELECT file FROM Content", as: String.self))
  }

  /// Returns the ids of uploads that have expired.
  func expired(at time: Int64) throws -> [String] {
    try connection.fetch("SELECT id FROM Upload WHERE expiresAt <= \(time)", as: String.self)
  }

  /// Returns the earliest time at which an upload expires or an object may be removed; `nil` if there is none.
  func nextExpiry() throws -> Int64? {
    try connection.fetch(
      """
      SELECT time FROM (
        SELECT min(expiresAt) AS time FROM Upload
        UNION ALL SELECT min(expiresAt) FROM ObjectUpload
        UNION ALL SELECT min(notBefore) FROM ObjectRemoval)
      WHERE time IS NOT NULL
      """, as: Int64.self
    ).min()
  }

  /// Returns a page of the UUIDs of contents, in order.
  func contents(after last: String, limit: Int) throws -> [String] {
    try connection.fetch(
      "SELECT DISTINCT content FROM Content WHERE content > \(last) ORDER BY content LIMIT \(limit)", as: String.self)
  }

  /// Returns the marker of this account's volume and bucket, and whether each has it.
  package func marker() throws -> (text: String, isOnDisk: Bool, isInStore: Bool) {
    guard
      let row = try connection.fetchRows(
        "SELECT marker, isOnDisk, isInStore FROM FileMarker", as: String.self, Bool.self, Bool.self
      ).first
    else { throw ServerError(.system, "the marker of an account's files is missing") }
    return (row.0, row.1, row.2)
  }

  /// Returns some contents, for the check that a volume is the right one.
  func someContents(limit: Int) throws -> [(file: String, byteCount: Int64)] {
    try connection.fetchRows("SELECT file, byteCount FROM Content LIMIT \(limit)", as: String.self, Int64.self)
      .map { (file: $0.0, byteCount: $0.1) }
  }

  /// Refuses a running request, whose token was valid when it began.
  /// - Throws: ``ServerError`` with `deleted` if the deletion of the account has begun.
  func requireAccount() throws {
    if try connection.fetchOne("SELECT isClosed FROM FileMarker", as: Bool.self) == true {
      throw ServerError.accountIsDeleted
    }
  }

  /// Returns the number of contents and unfinished uploads of the account, on the disk and in an object store.
  func contentsAndUploads() throws -> Int {
    try connection.fetchOne(
      """
      SELECT (SELECT count(*) FROM Content) + (SELECT count(*) FROM Upload WHERE isFinished = 0)
        + (SELECT count(*) FROM ObjectContent) + (SELECT count(*) FROM ObjectUpload)
      """, as: Int.self) ?? 0
  }

  /// Returns the number of files of the account, including files without a row.
  func fileCount() throws -> Int {
    try connection.fetchOne(
      "SELECT (SELECT count(*) FROM Content) + (SELECT count(*) FROM OrphanedFile)", as: Int.self) ?? 0
  }

  /// Returns the contents that were found missing, with their lengths and the time.
  func missingContents() throws -> [(file: String, byteCount: Int64, since: Int64)] {
    try connection.fetchRows(
      "SELECT file, byteCount, missingSince FROM Content WHERE missingSince IS NOT NULL", as: String.self, Int64.self,
      Int64.self
    ).map { (file: $0.0, byteCount: $0.1, since: $0.2) }
  }

  /// Returns the contents that no record has needed since a time or longer.
  func unusedContents(since time: Int64) throws -> [(file: String, content: String, since: Int64)] {
    try connection.fetchRows(
      "SELECT file, content, unusedSince FROM Content WHERE unusedSince <= \(time)", as: String.self, String.self,
      Int64.self
    ).map { (file: $0.0, content: $0.1, since: $0.2) }
  }

  /// Returns the files without a row, with the time at which a sweep first found each.
  func orphans() throws -> [String: Int64] {
    Dictionary(
      uniqueKeysWithValues: try connection.fetchRows(
        "SELECT file, since FROM OrphanedFile", as: String.self, Int64.self))
  }

  static func variant(_ text: String) throws -> ContentName.Variant {
    guard let variant = ContentName.Variant(rawValue: text) else {
      throw ServerError(.system, "unknown file variant")
    }
    return variant
  }
}

/// Changes the tables of an account's files, within one transaction.
struct FileTablesWriter {
  let connection: WriteConnection

  var tables: FileTables { FileTables(connection: connection) }

  /// Refuses bytes above the quota, as the tables count them.
  func check(_ userId: Int64, quota: Int64) throws {
    guard try tables.usedBytes(userId) <= quota else { throw FileRefusal.overQuota }
  }

  /// - Throws: ``ServerError`` with `deleted` for an account whose deletion has begun.
  func insert(_ upload: StoredUpload, file: String) throws {
    try tables.requireAccount()
    let counted = (upload.length ?? 0) + FileLimits.overhead
    try connection.execute(
      """
      INSERT INTO Upload (id, userId, content, variant, file, metadata, length, counted, expiresAt)
      VALUES (\(upload.id), \(upload.userId), \(upload.name.content), \(upload.name.variant.rawValue), \(file),
        \(upload.metadata), \(upload.length.sqlArgument), \(counted), \(upload.expiry))
      """)
  }

  func setLength(_ id: String, to length: Int64) throws {
    try connection.execute(
      "UPDATE Upload SET length = \(length), counted = \(length + FileLimits.overhead) WHERE id = \(id)")
  }

  /// Counts the bytes of an upload of unknown length up to an offset towards the quota.
  func count(_ id: String, upTo end: Int64) throws {
    let counted = end + FileLimits.overhead
    try connection.execute("UPDATE Upload SET counted = \(counted) WHERE id = \(id) AND counted != \(counted)")
  }

  /// - Parameter end: the offset up to which an upload of unknown length counts towards the quota.
  func setOffset(_ upload: StoredUpload, countedUpTo end: Int64) throws {
    let counted = (upload.length ?? end) + FileLimits.overhead
    try connection.execute(
      """
      UPDATE Upload SET received = \(upload.offset), expiresAt = \(upload.expiry), counted = \(counted)
      WHERE id = \(upload.id)
      """)
  }

  /// Stores a content for an upload with its last byte. A content whose bytes are missing or refuted is replaced, and
  /// one without proof by one with a proof. The remaining file becomes an orphan.
  func finish(_ upload: StoredUpload, file: String, _ proof: VerifiedContent, at time: Int64) throws {
    if let known = try tables.content(upload.name) {
      guard known.isReplaceable(proven: proof.contentDigest != nil) else { throw FileRefusal.exists }
      try removeContent(file: known.file)
    }
    try connection.execute(
      """
      UPDATE Upload SET received = \(upload.offset), expiresAt = \(upload.expiry), counted = 0, isFinished = 1
      WHERE id = \(upload.id)
      """)
    try connection.execute(
      """
      INSERT INTO Content (content, variant, userId, file, byteCount, counted, finishedAt, sha256, contentDigest)
      VALUES (\(upload.name.content), \(upload.name.variant.rawValue), \(upload.userId), \(file), \(upload.offset),
        \(upload.offset + FileLimits.overhead), \(time), \(proof.sha256), \(proof.contentDigest.sqlArgument))
      """)
  }

  /// Stores the digests of a content's bytes.
  func keep(_ proof: VerifiedContent, of file: String) throws {
    try connection.execute(
      """
      UPDATE Content SET sha256 = \(proof.sha256), contentDigest = \(proof.contentDigest.sqlArgument),
        isRefuted = \(proof.isRefuted) WHERE file = \(file)
      """)
  }

  /// Marks a content whose bytes are missing or have another length.
  func markMissing(_ file: String, at time: Int64) throws {
    try connection.execute("UPDATE Content SET missingSince = \(time) WHERE file = \(file) AND missingSince IS NULL")
  }

  /// Removes the mark of a content whose bytes exist again.
  func markFound(_ file: String) throws {
    try connection.execute("UPDATE Content SET missingSince = NULL WHERE file = \(file)")
  }

  /// Notes that the volume has the marker.
  func markDisk() throws { try connection.execute("UPDATE FileMarker SET isOnDisk = 1") }

  /// Stores which files have no row. Files that were seen before keep their time.
  func keepOrphans(_ files: Set<String>, at time: Int64) throws {
    for gone in try tables.orphans().keys where !files.contains(gone) { try removeOrphan(gone) }
    for file in files {
      try connection.execute(
        "INSERT INTO OrphanedFile (file, since) VALUES (\(file), \(time)) ON CONFLICT (file) DO NOTHING")
    }
  }

  func removeOrphan(_ file: String) throws { try connection.execute("DELETE FROM OrphanedFile WHERE file = \(file)") }

  func removeUpload(_ id: String) throws { try connection.execute("DELETE FROM Upload WHERE id = \(id)") }

  /// Removes a content, and the upload that it came from.
  func removeContent(file: String) throws {
    try connection.execute("DELETE FROM Upload WHERE file = \(file)")
    try connection.execute("DELETE FROM Content WHERE file = \(file)")
  }

  /// Notes that a record needs a content.
  func markUsed(_ content: String) throws {
    try connection.execute(
      """
      UPDATE Content SET wasUsed = 1, unusedSince = NULL
      WHERE content = \(content) AND (wasUsed = 0 OR unusedSince IS NOT NULL)
      """)
  }

  /// Marks contents with a UUID that no record needs: contents that a record once needed, and contents that were
  /// finished before a time.
  func markUnused(_ content: String, neverUsedBefore limit: Int64, at time: Int64) throws {
    try connection.execute(
      """
      UPDATE Content SET unusedSince = \(time)
      WHERE content = \(content) AND unusedSince IS NULL AND (wasUsed = 1 OR finishedAt < \(limit))
      """)
  }
}
