import CipherSQL

/// What the tables of an account's files hold, inside one transaction.
struct FileTables {
  let connection: Connection

  struct UploadRow {
    var upload: StoredUpload
    let file: String
  }

  struct ContentRow {
    let content: StoredContent
    let file: String
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
    try connection.withStatement("SELECT byteCount, file FROM Content WHERE content = ? AND variant = ?") { statement in
      try statement.bind(name.content, at: 1)
      try statement.bind(name.variant.rawValue, at: 2)
      guard try statement.step() else { return nil }
      let file: String = try statement.row.decode(at: 1)
      // The name in the folder was made for this content alone, so it tells it from all others.
      return ContentRow(
        content: StoredContent(name: name, byteCount: try statement.row.decode(at: 0), tag: file), file: file)
    }
  }

  func usedBytes(_ userId: Int64) throws -> Int64 {
    try connection.fetchOne("SELECT bytes FROM FileUsage WHERE userId = \(userId)", as: Int64.self) ?? 0
  }

  /// All names that files in the folder may have.
  func files() throws -> Set<String> {
    Set(try connection.fetch("SELECT file FROM Upload UNION SELECT file FROM Content", as: String.self))
  }

  /// Ids of uploads that have expired.
  func expired(at time: Int64) throws -> [String] {
    try connection.fetch("SELECT id FROM Upload WHERE expiresAt <= \(time)", as: String.self)
  }

  /// The uuids of contents, in order, some at a time.
  func contents(after last: String, limit: Int) throws -> [String] {
    try connection.fetch(
      "SELECT DISTINCT content FROM Content WHERE content > \(last) ORDER BY content LIMIT \(limit)", as: String.self)
  }

  static func variant(_ text: String) throws -> ContentName.Variant {
    guard let variant = ContentName.Variant(rawValue: text) else {
      throw ServerError(.system, "a variant is stored that is none")
    }
    return variant
  }
}

/// The same while they are changed.
struct FileTablesWriter {
  let connection: WriteConnection

  var tables: FileTables { FileTables(connection: connection) }

  /// Refuses what would be more than the quota, once the tables say what is.
  func check(_ userId: Int64, quota: Int64) throws {
    guard try tables.usedBytes(userId) <= quota else { throw FileRefusal.overQuota }
  }

  func insert(_ upload: StoredUpload, file: String) throws {
    let counted = (upload.length ?? 0) + FileSchema.overhead
    try connection.execute(
      """
      INSERT INTO Upload (id, userId, content, variant, file, metadata, length, counted, expiresAt)
      VALUES (\(upload.id), \(upload.userId), \(upload.name.content), \(upload.name.variant.rawValue), \(file),
        \(upload.metadata), \(upload.length.sqlArgument), \(counted), \(upload.expiry))
      """)
  }

  func setLength(_ id: String, to length: Int64) throws {
    try connection.execute(
      "UPDATE Upload SET length = \(length), counted = \(length + FileSchema.overhead) WHERE id = \(id)")
  }

  /// Lets an upload of unknown length count towards the quota with the bytes up to some place.
  func count(_ id: String, upTo end: Int64) throws {
    let counted = end + FileSchema.overhead
    try connection.execute("UPDATE Upload SET counted = \(counted) WHERE id = \(id) AND counted != \(counted)")
  }

  /// - Parameter end: up to where an upload of unknown length counts towards the quota.
  func setOffset(_ upload: StoredUpload, countedUpTo end: Int64) throws {
    let counted = (upload.length ?? end) + FileSchema.overhead
    try connection.execute(
      """
      UPDATE Upload SET received = \(upload.offset), expiresAt = \(upload.expiry), counted = \(counted)
      WHERE id = \(upload.id)
      """)
  }

  /// Makes a content of an upload whose last byte is there.
  func finish(_ upload: StoredUpload, file: String, at time: Int64) throws {
    guard try tables.content(upload.name) == nil else { throw FileRefusal.exists }
    try connection.execute(
      """
      UPDATE Upload SET received = \(upload.offset), expiresAt = \(upload.expiry), counted = 0, isFinished = 1
      WHERE id = \(upload.id)
      """)
    try connection.execute(
      """
      INSERT INTO Content (content, variant, userId, file, byteCount, counted, finishedAt)
      VALUES (\(upload.name.content), \(upload.name.variant.rawValue), \(upload.userId), \(file), \(upload.offset),
        \(upload.offset + FileSchema.overhead), \(time))
      """)
  }

  func removeUpload(_ id: String) throws { try connection.execute("DELETE FROM Upload WHERE id = \(id)") }

  /// Removes a content, and the upload that it came from.
  func removeContent(file: String) throws {
    try connection.execute("DELETE FROM Upload WHERE file = \(file)")
    try connection.execute("DELETE FROM Content WHERE file = \(file)")
  }

  func markUsed(_ content: String) throws {
    try connection.execute("UPDATE Content SET wasUsed = 1 WHERE content = \(content) AND wasUsed = 0")
  }

  /// Removes contents of a uuid that nothing refers to: those that something once did, and those that nothing has for long.
  /// - Returns: their names in the folder.
  func removeUnused(_ content: String, neverUsedBefore time: Int64) throws -> [String] {
    let files = try connection.fetch(
      "SELECT file FROM Content WHERE content = \(content) AND (wasUsed = 1 OR finishedAt < \(time))", as: String.self)
    for file in files { try removeContent(file: file) }
    return files
  }
}
