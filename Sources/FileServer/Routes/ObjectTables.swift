import CipherSQL
import SyncModel

/// A file on its way to an object store.
struct ObjectUpload: Equatable, Sendable {
  /// The last part of the upload's key in the store: 32 random hexadecimal digits.
  let id: String
  let userId: Int64
  let name: ContentName
  let byteCount: Int64
  /// SHA-256 of the sent bytes, in base64.
  let sha256: String
  let contentType: String

  /// Returns whether both uploads announce the same file.
  func isSame(as other: ObjectUpload) -> Bool {
    (byteCount, sha256, contentType) == (other.byteCount, other.sha256, other.contentType)
  }
}

/// A file that is complete in an object store.
struct ObjectContent: ComparedFile, Equatable, Sendable {
  let id: String
  let byteCount: Int64
  /// SHA-256 of the stored bytes, in hexadecimal digits.
  let sha256: String?
  /// The content's digest that the key of a record has verified.
  let contentDigest: String?
  let isRefuted: Bool
  let isMissing: Bool
}

/// The tables of an account about its objects, within one transaction.
struct ObjectTables {
  let connection: Connection

  private static let columns = "id, userId, content, variant, byteCount, sha256, contentType"

  func upload(_ id: String) throws -> ObjectUpload? {
    try upload("SELECT \(Self.columns) FROM ObjectUpload WHERE id = ?") { try $0.bind(id, at: 1) }
  }

  func upload(of userId: Int64, _ name: ContentName) throws -> ObjectUpload? {
    try upload("SELECT \(Self.columns) FROM ObjectUpload WHERE userId = ? AND content = ? AND variant = ?") {
      try $0.bind(userId, at: 1)
      try $0.bind(name.content, at: 2)
      try $0.bind(name.variant.rawValue, at: 3)
    }
  }

  private func upload(_ sql: String, _ bind: (borrowing Statement) throws -> Void) throws -> ObjectUpload? {
    try connection.withStatement(sql) { statement in
      try bind(statement)
      guard try statement.step() else { return nil }
      let row = statement.row
      return ObjectUpload(
        id: try row.decode(at: 0), userId: try row.decode(at: 1),
        name: ContentName(content: try row.decode(at: 2), variant: try FileTables.variant(row.decode(at: 3))),
        byteCount: try row.decode(at: 4), sha256: try row.decode(at: 5), contentType: try row.decode(at: 6))
    }
  }

  func content(_ name: ContentName) throws -> ObjectContent? {
    try connection.withStatement(
      """
      SELECT id, byteCount, sha256, contentDigest, isRefuted, missingSince IS NOT NULL FROM ObjectContent
      WHERE content = ? AND variant = ?
      """
    ) { statement in
      try statement.bind(name.content, at: 1)
      try statement.bind(name.variant.rawValue, at: 2)
      guard try statement.step() else { return nil }
      let row = statement.row
      return ObjectContent(
        id: try row.decode(at: 0), byteCount: try row.decode(at: 1), sha256: try row.decode(at: 2),
        contentDigest: try row.decode(at: 3), isRefuted: try row.decode(at: 4), isMissing: try row.decode(at: 5))
    }
  }

  /// Returns the ids of uploads that have expired.
  func expired(at time: Int64) throws -> [String] {
    try connection.fetch("SELECT id FROM ObjectUpload WHERE expiresAt <= \(time)", as: String.self)
  }

  /// Returns a page of the UUIDs of contents, in order.
  func contents(after last: String, limit: Int) throws -> [String] {
    try connection.fetch(
      "SELECT DISTINCT content FROM ObjectContent WHERE content > \(last) ORDER BY content LIMIT \(limit)",
      as: String.self)
  }

  /// Returns some contents, for the check that a bucket is the right one.
  func someContents(limit: Int) throws -> [(id: String, byteCount: Int64)] {
    try connection.fetchRows("SELECT id, byteCount FROM ObjectContent LIMIT \(limit)", as: String.self, Int64.self)
      .map { (id: $0.0, byteCount: $0.1) }
  }

  /// Returns the number of contents that the account has in the store.
  func contentCount() throws -> Int { try connection.fetchOne("SELECT count(*) FROM ObjectContent", as: Int.self) ?? 0 }

  /// Returns the contents that have been missing since a time or longer.
  func missingContents(since time: Int64) throws -> [(id: String, byteCount: Int64, since: Int64)] {
    try connection.fetchRows(
      "SELECT id, byteCount, missingSince FROM ObjectContent WHERE missingSince <= \(time)", as: String.self,
      Int64.self, Int64.self
    ).map { (id: $0.0, byteCount: $0.1, since: $0.2) }
  }

  /// Returns the contents that no record has needed since a time or longer.
  func unusedContents(since time: Int64) throws -> [(id: String, since: Int64)] {
    try connection.fetchRows(
      "SELECT id, unusedSince FROM ObjectContent WHERE unusedSince <= \(time)", as: String.self, Int64.self
    ).map { (id: $0.0, since: $0.1) }
  }

  /// Returns a page of the ids of objects that may be removed.
  func removals(at time: Int64, limit: Int) throws -> [String] {
    try connection.fetch(
      "SELECT id FROM ObjectRemoval WHERE notBefore <= \(time) ORDER BY notBefore, id LIMIT \(limit)", as: String.self)
  }
}

/// Changes the tables of an account's objects, within one transaction.
struct ObjectTablesWriter {
  let connection: WriteConnection

  var tables: ObjectTables { ObjectTables(connection: connection) }

  func insert(_ upload: ObjectUpload, addressEnd: Int64, expiry: Int64) throws {
    try connection.execute(
      """
      INSERT INTO ObjectUpload
        (id, userId, content, variant, byteCount, sha256, contentType, counted, addressEndsAt, expiresAt)
      VALUES (\(upload.id), \(upload.userId), \(upload.name.content), \(upload.name.variant.rawValue),
        \(upload.byteCount), \(upload.sha256), \(upload.contentType), \(upload.byteCount + FileSchema.overhead),
        \(addressEnd), \(expiry))
      """)
  }

  func extend(_ id: String, addressEnd: Int64, expiry: Int64) throws {
    try connection.execute(
      "UPDATE ObjectUpload SET addressEndsAt = \(addressEnd), expiresAt = \(expiry) WHERE id = \(id)")
  }

  /// Stores a content for an upload whose object was found. A content whose object is missing or refuted is replaced,
  /// and one without proof by one with a proof.
  func finish(_ upload: ObjectUpload, _ proof: VerifiedContent, at time: Int64) throws {
    if let known = try tables.content(upload.name), known.isReplaceable(proven: proof.contentDigest != nil) {
      try removeContent(known.id, notBefore: time + FileSweep.grace)
    }
    try connection.execute(
      """
      INSERT INTO ObjectContent
        (content, variant, userId, id, byteCount, counted, addressEndsAt, finishedAt, sha256, contentDigest)
      SELECT content, variant, userId, id, byteCount, counted, addressEndsAt, \(time), \(proof.sha256),
        \(proof.contentDigest.sqlArgument) FROM ObjectUpload
      WHERE id = \(upload.id)
      """)
    try connection.execute("DELETE FROM ObjectUpload WHERE id = \(upload.id)")
  }

  /// Cancels an upload. Its bytes are removed from the store, even if they arrive later while its address is valid.
  func abandon(_ id: String) throws {
    try connection.execute(
      """
      INSERT OR IGNORE INTO ObjectRemoval (id, notBefore) SELECT id, addressEndsAt FROM ObjectUpload WHERE id = \(id)
      """)
    try connection.execute("DELETE FROM ObjectUpload WHERE id = \(id)")
  }

  /// Removes a content, and queues the removal of its object.
  func removeContent(_ id: String, notBefore time: Int64 = 0) throws {
    try connection.execute(
      """
      INSERT OR IGNORE INTO ObjectRemoval (id, notBefore)
      SELECT id, max(addressEndsAt, \(time)) FROM ObjectContent WHERE id = \(id)
      """)
    try connection.execute("DELETE FROM ObjectContent WHERE id = \(id)")
  }

  /// Stores the digests of a content's bytes.
  func keep(_ proof: VerifiedContent, of id: String) throws {
    try connection.execute(
      """
      UPDATE ObjectContent SET sha256 = \(proof.sha256), contentDigest = \(proof.contentDigest.sqlArgument),
        isRefuted = \(proof.isRefuted) WHERE id = \(id)
      """)
  }

  /// Marks a content whose object is missing or has another length.
  func markMissing(_ id: String, at time: Int64) throws {
    try connection.execute("UPDATE ObjectContent SET missingSince = \(time) WHERE id = \(id) AND missingSince IS NULL")
  }

  /// Removes the mark of a content whose object exists again.
  func markFound(_ id: String) throws {
    try connection.execute("UPDATE ObjectContent SET missingSince = NULL WHERE id = \(id)")
  }

  /// Notes that the bucket has the marker.
  func markStore() throws { try connection.execute("UPDATE FileMarker SET isInStore = 1") }

  /// Notes that a record needs a content.
  func markUsed(_ content: String) throws {
    try connection.execute(
      """
      UPDATE ObjectContent SET wasUsed = 1, unusedSince = NULL
      WHERE content = \(content) AND (wasUsed = 0 OR unusedSince IS NOT NULL)
      """)
  }

  /// Marks contents with a UUID that no record needs: contents that a record once needed, and contents that were
  /// finished before a time.
  func markUnused(_ content: String, neverUsedBefore limit: Int64, at time: Int64) throws {
    try connection.execute(
      """
      UPDATE ObjectContent SET unusedSince = \(time)
      WHERE content = \(content) AND unusedSince IS NULL AND (wasUsed = 1 OR finishedAt < \(limit))
      """)
  }

  func removed(_ ids: [String]) throws {
    for id in ids { try connection.execute("DELETE FROM ObjectRemoval WHERE id = \(id)") }
  }
}
