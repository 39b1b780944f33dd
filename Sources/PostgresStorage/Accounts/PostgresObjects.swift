import FileServer
import ServerStorage

/// The rows of all accounts about their files in an object store, in the database that all nodes share.
package struct PostgresObjects: ObjectDatabase {
  private let database: PostgresDatabase

  /// Creates the rows of a database.
  package init(_ database: PostgresDatabase) { self.database = database }

  package func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any ObjectRows) throws -> Result
  ) async throws -> Result {
    try await database.transaction(.reading(account)) { connection in
      let account = try AccountRow.key(account)
      _ = try connection.begin(TransactionStatements.beginReading, [])
      let result = try body(PostgresObjectRows(connection, account))
      _ = try connection.run(TransactionStatements.commit())
      return result
    }
  }

  package func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any ObjectRowsWriting) throws -> Result
  ) async throws -> Result {
    try await database.transaction(.writing(account)) { connection in
      // The lock of the account orders the transactions that look whether a content exists.
      let (row, rows) = try AccountRow.lock(account, connection)
      let result = try body(PostgresObjectRows(connection, rows.account, isDeleted: row.isDeleted))
      try rows.commit()
      return result
    }
  }
}

/// The rows of an account in a transaction.
private struct PostgresObjectRows: ObjectRowsWriting {
  private let connection: PostgresConnection
  private let account: PostgresValue
  /// Whether the deletion of the account has begun.
  private let isDeleted: Bool

  init(_ connection: PostgresConnection, _ account: PostgresValue, isDeleted: Bool = false) {
    (self.connection, self.account, self.isDeleted) = (connection, account, isDeleted)
  }

  // MARK: Reading

  private static let uploadColumns = "id, user_id, content, variant, byte_count, sha256, content_type"
  private static let uploadById = Statement(
    "SELECT \(uploadColumns) FROM fieldvault.upload WHERE account_id = $1::uuid AND id = $2::text")
  private static let uploadByName = Statement(
    """
    SELECT \(uploadColumns) FROM fieldvault.upload
    WHERE account_id = $1::uuid AND user_id = $2::bigint AND content = $3::text AND variant = $4::text
    """)

  private func upload(_ result: PostgresResult) throws -> ObjectUpload? {
    try result.first { row in
      ObjectUpload(
        id: row.text(0), userId: row.integer(1),
        name: ContentName(content: row.text(2), variant: try ContentName.Variant(stored: row.text(3))),
        byteCount: row.integer(4), sha256: row.text(5), contentType: row.text(6))
    }
  }

  func upload(_ id: String) throws -> ObjectUpload? {
    try upload(connection.run(Self.uploadById(account, .text(IndexText.of(id)))))
  }

  func upload(of userId: Int64, _ name: ContentName) throws -> ObjectUpload? {
    try upload(
      connection.run(
        Self.uploadByName(account, .integer(userId), .text(name.content), .text(name.variant.rawValue))))
  }

  private static let contentByName = Statement(
    """
    SELECT id, byte_count, sha256, content_digest, is_refuted, missing_since IS NOT NULL FROM fieldvault.content
    WHERE account_id = $1::uuid AND content = $2::text AND variant = $3::text
    """)

  func content(_ name: ContentName) throws -> ObjectContent? {
    try connection.run(Self.contentByName(account, .text(name.content), .text(name.variant.rawValue))).first { row in
      ObjectContent(
        id: row.text(0), byteCount: row.integer(1), sha256: row.optionalText(2), contentDigest: row.optionalText(3),
        isRefuted: row.flag(4), isMissing: row.flag(5))
    }
  }

  /// A server on PostgreSQL has all files in the store.
  func diskFile(_ name: ContentName) throws -> (file: String, state: any ComparedFile)? { nil }

  private static let usage = Statement(
    "SELECT bytes FROM fieldvault.file_usage WHERE account_id = $1::uuid AND user_id = $2::bigint")

  func usedBytes(_ userId: Int64) throws -> Int64 {
    try connection.run(Self.usage(account, .integer(userId))).first { $0.integer(0) } ?? 0
  }

  private static let expiredUploads = Statement(
    "SELECT id FROM fieldvault.upload WHERE account_id = $1::uuid AND expires_at <= $2::bigint")

  func expired(at time: Int64) throws -> [String] {
    try connection.run(Self.expiredUploads(account, .integer(time))).map { $0.text(0) }
  }

  private static let contentPage = Statement(
    """
    SELECT DISTINCT content FROM fieldvault.content WHERE account_id = $1::uuid AND content > $2::text
    ORDER BY content LIMIT $3::bigint
    """)

  func contents(after last: String, limit: Int) throws -> [String] {
    try connection.run(Self.contentPage(account, .text(last), .integer(Int64(limit)))).map { $0.text(0) }
  }

  private static let anyContents = Statement(
    "SELECT id, byte_count FROM fieldvault.content WHERE account_id = $1::uuid LIMIT $2::bigint")

  func someContents(limit: Int) throws -> [(id: String, byteCount: Int64)] {
    try connection.run(Self.anyContents(account, .integer(Int64(limit)))).map { ($0.text(0), $0.integer(1)) }
  }

  private static let count = Statement("SELECT count(*) FROM fieldvault.content WHERE account_id = $1::uuid")

  func contentCount() throws -> Int { Int(try connection.run(Self.count(account)).first { $0.integer(0) } ?? 0) }

  private static let missing = Statement(
    """
    SELECT id, byte_count, missing_since FROM fieldvault.content
    WHERE account_id = $1::uuid AND missing_since <= $2::bigint
    """)

  func missingContents(since time: Int64) throws -> [(id: String, byteCount: Int64, since: Int64)] {
    try connection.run(Self.missing(account, .integer(time))).map { ($0.text(0), $0.integer(1), $0.integer(2)) }
  }

  private static let unused = Statement(
    "SELECT id, unused_since FROM fieldvault.content WHERE account_id = $1::uuid AND unused_since <= $2::bigint")

  func unusedContents(since time: Int64) throws -> [(id: String, since: Int64)] {
    try connection.run(Self.unused(account, .integer(time))).map { ($0.text(0), $0.integer(1)) }
  }

  private static let dueRemovals = Statement(
    """
    SELECT id FROM fieldvault.object_removal WHERE account_id = $1::uuid AND not_before <= $2::bigint
    ORDER BY not_before, id LIMIT $3::bigint
    """)

  func removals(at time: Int64, limit: Int) throws -> [String] {
    try connection.run(Self.dueRemovals(account, .integer(time), .integer(Int64(limit)))).map { $0.text(0) }
  }

  private static let marker = Statement(
    "SELECT object_marker, is_in_store FROM fieldvault.account WHERE account_id = $1::uuid")

  func storeMarker() throws -> (text: String, isInStore: Bool) {
    guard let found = try connection.run(Self.marker(account)).first({ ($0.text(0), $0.flag(1)) }) else {
      throw ServerError.accountIsDeleted
    }
    return found
  }

  // MARK: Writing

  /// The quota of a user changes with the rows, in the same statement.
  private static let insertUpload = Statement(
    """
    WITH added AS (
      INSERT INTO fieldvault.upload
        (account_id, id, user_id, content, variant, byte_count, sha256, content_type, counted, address_ends_at, expires_at)
      VALUES ($1::uuid, $2::text, $3::bigint, $4::text, $5::text, $6::bigint, $7::text, $8::text, $9::bigint, $10::bigint,
        $11::bigint)
      RETURNING user_id, counted)
    INSERT INTO fieldvault.file_usage AS usage (account_id, user_id, bytes) SELECT $1::uuid, user_id, counted FROM added
    ON CONFLICT (account_id, user_id) DO UPDATE SET bytes = usage.bytes + excluded.bytes
    """)

  func insert(_ upload: ObjectUpload, addressEnd: Int64, expiry: Int64) throws {
    if isDeleted { throw ServerError.accountIsDeleted }
    _ = try connection.run(
      Self.insertUpload(
        account, .text(upload.id), .integer(upload.userId), .text(upload.name.content),
        .text(upload.name.variant.rawValue), .integer(upload.byteCount), .text(upload.sha256),
        .text(upload.contentType), .integer(upload.byteCount + FileLimits.overhead), .integer(addressEnd),
        .integer(expiry)))
  }

  private static let extendUpload = Statement(
    """
    UPDATE fieldvault.upload SET address_ends_at = $3::bigint, expires_at = $4::bigint
    WHERE account_id = $1::uuid AND id = $2::text
    """)

  func extend(_ id: String, addressEnd: Int64, expiry: Int64) throws {
    _ = try connection.run(Self.extendUpload(account, .text(id), .integer(addressEnd), .integer(expiry)))
  }

  private static let toContent = Statement(
    """
    WITH sent AS (
      DELETE FROM fieldvault.upload WHERE account_id = $1::uuid AND id = $2::text
      RETURNING content, variant, user_id, id, byte_count, counted, address_ends_at)
    INSERT INTO fieldvault.content
      (account_id, content, variant, user_id, id, byte_count, counted, address_ends_at, finished_at, sha256, content_digest)
    SELECT $1::uuid, content, variant, user_id, id, byte_count, counted, address_ends_at, $3::bigint, $4::text, $5::text
    FROM sent
    """)

  func replaceUpload(_ id: String, byContent proof: VerifiedContent, at time: Int64) throws {
    _ = try connection.run(
      Self.toContent(account, .text(id), .integer(time), .text(proof.sha256), .optional(proof.contentDigest)))
  }

  /// Returns the statement that removes rows of a table, counts their bytes no longer, and queues the removal of their
  /// objects not before `$3`.
  private static func removal(from table: String) -> Statement {
    Statement(
      """
      WITH gone AS (
        DELETE FROM fieldvault.\(table) WHERE account_id = $1::uuid AND id = $2::text
        RETURNING id, user_id, counted, address_ends_at),
      usage AS (
        UPDATE fieldvault.file_usage AS usage SET bytes = usage.bytes - gone.counted FROM gone
        WHERE usage.account_id = $1::uuid AND usage.user_id = gone.user_id)
      INSERT INTO fieldvault.object_removal (account_id, id, not_before)
      SELECT $1::uuid, id, greatest(address_ends_at, $3::bigint) FROM gone ON CONFLICT DO NOTHING
      """)
  }

  private static let removeUpload = removal(from: "upload")
  private static let removeContentRow = removal(from: "content")

  func abandon(_ id: String) throws { _ = try connection.run(Self.removeUpload(account, .text(id), .integer(0))) }

  func removeContent(_ id: String, notBefore time: Int64) throws {
    _ = try connection.run(Self.removeContentRow(account, .text(id), .integer(time)))
  }

  func removeDiskFile(_ file: String) throws {}

  private static let setProof = Statement(
    """
    UPDATE fieldvault.content SET sha256 = $3::text, content_digest = $4::text, is_refuted = $5::boolean
    WHERE account_id = $1::uuid AND id = $2::text
    """)

  func keep(_ proof: VerifiedContent, of id: String) throws {
    _ = try connection.run(
      Self.setProof(
        account, .text(id), .text(proof.sha256), .optional(proof.contentDigest), .flag(proof.isRefuted)))
  }

  private static let setMissing = Statement(
    """
    UPDATE fieldvault.content SET missing_since = $3::bigint
    WHERE account_id = $1::uuid AND id = $2::text AND missing_since IS NULL
    """)
  private static let setFound = Statement(
    "UPDATE fieldvault.content SET missing_since = NULL WHERE account_id = $1::uuid AND id = $2::text")
  private static let setMarked = Statement(
    "UPDATE fieldvault.account SET is_in_store = true WHERE account_id = $1::uuid")

  func markMissing(_ id: String, at time: Int64) throws {
    _ = try connection.run(Self.setMissing(account, .text(id), .integer(time)))
  }

  func markFound(_ id: String) throws { _ = try connection.run(Self.setFound(account, .text(id))) }

  func markStore() throws { _ = try connection.run(Self.setMarked(account)) }

  private static let setUnmarked = Statement(
    "UPDATE fieldvault.account SET is_in_store = false WHERE account_id = $1::uuid")

  func unmarkStore() throws { _ = try connection.run(Self.setUnmarked(account)) }

  private static let setUsed = Statement(
    """
    UPDATE fieldvault.content SET was_used = true, unused_since = NULL
    WHERE account_id = $1::uuid AND content = ANY ($2::text[]) AND (NOT was_used OR unused_since IS NOT NULL)
    """)
  private static let setUnused = Statement(
    """
    UPDATE fieldvault.content SET unused_since = $4::bigint
    WHERE account_id = $1::uuid AND content = ANY ($2::text[]) AND unused_since IS NULL
      AND (was_used OR finished_at < $3::bigint)
    """)

  func markUsed(_ contents: [String]) throws { _ = try connection.run(Self.setUsed(account, .texts(contents))) }

  func markUnused(_ contents: [String], neverUsedBefore limit: Int64, at time: Int64) throws {
    _ = try connection.run(Self.setUnused(account, .texts(contents), .integer(limit), .integer(time)))
  }

  private static let allFiles = Statement(
    """
    SELECT (SELECT count(*) FROM fieldvault.upload WHERE account_id = $1::uuid)
      + (SELECT count(*) FROM fieldvault.content WHERE account_id = $1::uuid)
    """)

  func fileCount() throws -> Int { Int(try connection.run(Self.allFiles(account)).first { $0.integer(0) } ?? 0) }

  private static let firstUploads = Statement(
    "SELECT id FROM fieldvault.upload WHERE account_id = $1::uuid ORDER BY id LIMIT $2::bigint")
  private static let firstContents = Statement(
    "SELECT id FROM fieldvault.content WHERE account_id = $1::uuid ORDER BY id LIMIT $2::bigint")

  func removeFiles(atMost limit: Int) throws -> Int {
    let uploads = try connection.run(Self.firstUploads(account, .integer(Int64(limit)))).map { $0.text(0) }
    for id in uploads { try abandon(id) }
    let rest = Int64(limit - uploads.count)
    let contents = try connection.run(Self.firstContents(account, .integer(rest))).map { $0.text(0) }
    for id in contents { try removeContent(id, notBefore: 0) }
    return uploads.count + contents.count
  }

  private static let removalsDone = Statement(
    "DELETE FROM fieldvault.object_removal WHERE account_id = $1::uuid AND id = ANY ($2::text[])")

  func removed(_ ids: [String]) throws { _ = try connection.run(Self.removalsDone(account, .texts(ids))) }
}

extension ContentName.Variant {
  fileprivate init(stored text: String) throws {
    guard let variant = ContentName.Variant(rawValue: text) else {
      throw ServerError(.damaged, "fieldvault.upload has an unknown variant")
    }
    self = variant
  }
}
