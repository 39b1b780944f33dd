import CipherSQL
import ServerStorage
import SyncModel

/// The tables of an account about its objects, within one transaction.
class ObjectTables: ObjectRows {
  let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  private static let columns = "id, userId, content, variant, byteCount, sha256, contentType"

  final func upload(_ id: String) throws -> ObjectUpload? {
    try upload("SELECT \(Self.columns) FROM ObjectUpload WHERE id = ?") { try $0.bind(id, at: 1) }
  }

  final func upload(of userId: Int64, _ name: ContentName) throws -> ObjectUpload? {
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

  final func content(_ name: ContentName) throws -> ObjectContent? {
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

  final func expired(at time: Int64) throws -> [String] {
    try connection.fetch("SELECT id FROM ObjectUpload WHERE expiresAt <= \(time)", as: String.self)
  }

  final func contents(after last: String, limit: Int) throws -> [String] {
    try connection.fetch(
      "SELECT DISTINCT content FROM ObjectContent WHERE content > \(last) ORDER BY content LIMIT \(limit)",
      as: String.self)
  }

  final func someContents(limit: Int) throws -> [(id: String, byteCount: Int64)] {
    try connection.fetchRows("SELECT id, byteCount FROM ObjectContent LIMIT \(limit)", as: String.self, Int64.self)
      .map { (id: $0.0, byteCount: $0.1) }
  }

  final func contentCount() throws -> Int {
    try connection.fetchOne("SELECT count(*) FROM ObjectContent", as: Int.self) ?? 0
  }

  final func fileCount() throws -> Int { try FileTables(connection: connection).contentsAndUploads() }

  final func missingContents(since time: Int64) throws -> [(id: String, byteCount: Int64, since: Int64)] {
    try connection.fetchRows(
      "SELECT id, byteCount, missingSince FROM ObjectContent WHERE missingSince <= \(time)", as: String.self,
      Int64.self, Int64.self
    ).map { (id: $0.0, byteCount: $0.1, since: $0.2) }
  }

  final func unusedContents(since time: Int64) throws -> [(id: String, since: Int64)] {
    try connection.fetchRows(
      "SELECT id, unusedSince FROM ObjectContent WHERE unusedSince <= \(time)", as: String.self, Int64.self
    ).map { (id: $0.0, since: $0.1) }
  }

  final func removals(at time: Int64, limit: Int) throws -> [String] {
    try connection.fetch(
      "SELECT id FROM ObjectRemoval WHERE notBefore <= \(time) ORDER BY notBefore, id LIMIT \(limit)", as: String.self)
  }

  final func storeMarker() throws -> (text: String, isInStore: Bool) {
    let marker = try FileTables(connection: connection).marker()
    return (marker.text, marker.isInStore)
  }

  final func diskFile(_ name: ContentName) throws -> (file: String, state: any ComparedFile)? {
    try FileTables(connection: connection).content(name).map { ($0.file, $0) }
  }

  final func usedBytes(_ userId: Int64) throws -> Int64 { try FileTables(connection: connection).usedBytes(userId) }
}

/// Changes the tables of an account's objects, within one transaction.
final class ObjectTablesWriter: ObjectTables, ObjectRowsWriting {
  private let writer: WriteConnection

  init(_ writer: WriteConnection) {
    self.writer = writer
    super.init(writer)
  }

  func insert(_ upload: ObjectUpload, addressEnd: Int64, expiry: Int64) throws {
    try FileTables(connection: writer).requireAccount()
    try writer.execute(
      """
      INSERT INTO ObjectUpload
        (id, userId, content, variant, byteCount, sha256, contentType, counted, addressEndsAt, expiresAt)
      VALUES (\(upload.id), \(upload.userId), \(upload.name.content), \(upload.name.variant.rawValue),
        \(upload.byteCount), \(upload.sha256), \(upload.contentType), \(upload.byteCount + FileLimits.overhead),
        \(addressEnd), \(expiry))
      """)
  }

  func extend(_ id: String, addressEnd: Int64, expiry: Int64) throws {
    try writer.execute(
      "UPDATE ObjectUpload SET addressEndsAt = \(addressEnd), expiresAt = \(expiry) WHERE id = \(id)")
  }

  func replaceUpload(_ id: String, byContent proof: VerifiedContent, at time: Int64) throws {
    try writer.execute(
      """
      INSERT INTO ObjectContent
        (content, variant, userId, id, byteCount, counted, addressEndsAt, finishedAt, sha256, contentDigest)
      SELECT content, variant, userId, id, byteCount, counted, addressEndsAt, \(time), \(proof.sha256),
        \(proof.contentDigest.sqlArgument) FROM ObjectUpload
      WHERE id = \(id)
      """)
    try writer.execute("DELETE FROM ObjectUpload WHERE id = \(id)")
  }

  func abandon(_ id: String) throws {
    try writer.execute(
      """
      INSERT OR IGNORE INTO ObjectRemoval (id, notBefore) SELECT id, addressEndsAt FROM ObjectUpload WHERE id = \(id)
      """)
    try writer.execute("DELETE FROM ObjectUpload WHERE id = \(id)")
  }

  func removeContent(_ id: String, notBefore time: Int64) throws {
    try writer.execute(
      """
      INSERT OR IGNORE INTO ObjectRemoval (id, notBefore)
      SELECT id, max(addressEndsAt, \(time)) FROM ObjectContent WHERE id = \(id)
      """)
    try writer.execute("DELETE FROM ObjectContent WHERE id = \(id)")
  }

  func keep(_ proof: VerifiedContent, of id: String) throws {
    try writer.execute(
      """
      UPDATE ObjectContent SET sha256 = \(proof.sha256), contentDigest = \(proof.contentDigest.sqlArgument),
        isRefuted = \(proof.isRefuted) WHERE id = \(id)
      """)
  }

  func markMissing(_ id: String, at time: Int64) throws {
    try writer.execute("UPDATE ObjectContent SET missingSince = \(time) WHERE id = \(id) AND missingSince IS NULL")
  }

  func markFound(_ id: String) throws {
    try writer.execute("UPDATE ObjectContent SET missingSince = NULL WHERE id = \(id)")
  }

  func markStore() throws { try writer.execute("UPDATE FileMarker SET isInStore = 1") }

  func unmarkStore() throws { try writer.execute("UPDATE FileMarker SET isInStore = 0") }

  func removeFiles(atMost limit: Int) throws -> Int {
    try writer.execute("UPDATE FileMarker SET isClosed = 1 WHERE isClosed = 0")
    let uploads = try writer.fetch("SELECT id FROM ObjectUpload LIMIT \(limit)", as: String.self)
    for id in uploads { try abandon(id) }
    let contents = try writer.fetch("SELECT id FROM ObjectContent LIMIT \(limit)", as: String.self)
    for id in contents { try removeContent(id, notBefore: 0) }
    let onDisk =
      try writer.execute("DELETE FROM Upload WHERE id IN (SELECT id FROM Upload LIMIT \(limit))")
      + writer.execute("DELETE FROM Content WHERE file IN (SELECT file FROM Content LIMIT \(limit))")
    return uploads.count + contents.count + onDisk
  }

  func removeDiskFile(_ file: String) throws { try FileTablesWriter(connection: writer).removeContent(file: file) }

  func markUsed(_ contents: [String]) throws {
    for content in contents {
      try writer.execute(
        """
        UPDATE ObjectContent SET wasUsed = 1, unusedSince = NULL
        WHERE content = \(content) AND (wasUsed = 0 OR unusedSince IS NOT NULL)
        """)
    }
  }

  func markUnused(_ contents: [String], neverUsedBefore limit: Int64, at time: Int64) throws {
    for content in contents {
      try writer.execute(
        """
        UPDATE ObjectContent SET unusedSince = \(time)
        WHERE content = \(content) AND unusedSince IS NULL AND (wasUsed = 1 OR finishedAt < \(limit))
        """)
    }
  }

  func removed(_ ids: [String]) throws {
    for id in ids { try writer.execute("DELETE FROM ObjectRemoval WHERE id = \(id)") }
  }
}

/// The tables in the databases of accounts.
package struct EmbeddedObjects: ObjectDatabase {
  private let storage: DiskFileStorage

  /// - Parameter storage: opens the databases.
  package init(_ storage: DiskFileStorage) { self.storage = storage }

  package func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any ObjectRows) throws -> Result
  ) async throws -> Result {
    try await storage.database(account).read { try body(ObjectTables($0)) }
  }

  package func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any ObjectRowsWriting) throws -> Result
  ) async throws -> Result {
    try await storage.database(account).write { try body(ObjectTablesWriter($0)) }
  }
}
