import CipherSQL

/// A file on its way to an object store.
struct ObjectUpload: Equatable, Sendable {
  /// The last part of its key in the store: 32 hexadecimal digits that nobody guesses.
  let id: String
  let userId: Int64
  let name: ContentName
  let byteCount: Int64
  /// Of what is sent, in base64.
  let sha256: String
  let contentType: String

  /// Whether the same is meant to be sent.
  func isSame(as other: ObjectUpload) -> Bool {
    (byteCount, sha256, contentType) == (other.byteCount, other.sha256, other.contentType)
  }
}

/// A file that is complete in an object store.
struct ObjectContent: Equatable, Sendable {
  let id: String
  let byteCount: Int64
}

/// What the tables of an account hold about its objects, inside one transaction.
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
    try connection.withStatement("SELECT id, byteCount FROM ObjectContent WHERE content = ? AND variant = ?") {
      statement in
      try statement.bind(name.content, at: 1)
      try statement.bind(name.variant.rawValue, at: 2)
      guard try statement.step() else { return nil }
      return ObjectContent(id: try statement.row.decode(at: 0), byteCount: try statement.row.decode(at: 1))
    }
  }

  /// Ids of uploads that have waited too long.
  func expired(at time: Int64) throws -> [String] {
    try connection.fetch("SELECT id FROM ObjectUpload WHERE expiresAt <= \(time)", as: String.self)
  }

  /// The uuids of contents, in order, some at a time.
  func contents(after last: String, limit: Int) throws -> [String] {
    try connection.fetch(
      "SELECT DISTINCT content FROM ObjectContent WHERE content > \(last) ORDER BY content LIMIT \(limit)",
      as: String.self)
  }

  /// Ids of objects that may be removed by now, some at a time.
  func removals(at time: Int64, limit: Int) throws -> [String] {
    try connection.fetch(
      "SELECT id FROM ObjectRemoval WHERE notBefore <= \(time) ORDER BY notBefore, id LIMIT \(limit)", as: String.self)
  }
}

/// The same while they are changed.
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

  /// Makes a content of an upload that was found in the store.
  func finish(_ upload: ObjectUpload, at time: Int64) throws {
    try connection.execute(
      """
      INSERT INTO ObjectContent (content, variant, userId, id, byteCount, counted, addressEndsAt, finishedAt)
      SELECT content, variant, userId, id, byteCount, counted, addressEndsAt, \(time) FROM ObjectUpload
      WHERE id = \(upload.id)
      """)
    try connection.execute("DELETE FROM ObjectUpload WHERE id = \(upload.id)")
  }

  /// Gives an upload up. What was sent, or is still sent while its address is good, is removed from the store.
  func giveUp(_ id: String) throws {
    try connection.execute(
      """
      INSERT OR IGNORE INTO ObjectRemoval (id, notBefore) SELECT id, addressEndsAt FROM ObjectUpload WHERE id = \(id)
      """)
    try connection.execute("DELETE FROM ObjectUpload WHERE id = \(id)")
  }

  /// Removes a content, and has its object removed.
  func removeContent(_ id: String) throws {
    try connection.execute(
      """
      INSERT OR IGNORE INTO ObjectRemoval (id, notBefore) SELECT id, addressEndsAt FROM ObjectContent WHERE id = \(id)
      """)
    try connection.execute("DELETE FROM ObjectContent WHERE id = \(id)")
  }

  func markUsed(_ content: String) throws {
    try connection.execute("UPDATE ObjectContent SET wasUsed = 1 WHERE content = \(content) AND wasUsed = 0")
  }

  /// Removes contents of a uuid that nothing refers to: those that something once did, and those that nothing has for long.
  func removeUnused(_ content: String, neverUsedBefore time: Int64) throws {
    let ids = try connection.fetch(
      "SELECT id FROM ObjectContent WHERE content = \(content) AND (wasUsed = 1 OR finishedAt < \(time))",
      as: String.self)
    for id in ids { try removeContent(id) }
  }

  func removed(_ ids: [String]) throws {
    for id in ids { try connection.execute("DELETE FROM ObjectRemoval WHERE id = \(id)") }
  }
}
