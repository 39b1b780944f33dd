import CipherSQL
import SyncModel

/// The files of accounts whose bytes are in an object store; what they are is in the tables of the account.
///
/// The row comes before the object: before an address is given, the upload has a row. And an object goes after its row, by way
/// of `ObjectRemoval`, so that a store that cannot be reached just then, or a crash, leaves nothing behind for ever. Keys are
/// drawn by chance; nothing of them comes from a client.
struct ObjectFiles: Sendable {
  let store: ObjectStore
  let database: @Sendable (AccountName) throws -> Database
  let log: RequestLog

  /// A file that is to be sent.
  struct New: Sendable {
    let userId: Int64
    let name: ContentName
    let byteCount: Int64
    let sha256: String
    let contentType: String
  }

  /// Why an upload is not confirmed.
  enum Refusal: Error, Equatable {
    /// Nothing is in the store under its key.
    case notSent
    /// What is in the store is not what was announced; this member of the announcement is another.
    case mismatch(String)
    /// The store could not be asked.
    case notReached
  }

  private func key(_ account: AccountName, _ id: String) -> String { "\(account.folder)/\(id)" }

  // MARK: Sending

  /// Makes room for a file and says where it may be sent. Who asks again for the same gets the same place, so that what was
  /// sent before the answer was lost is found.
  /// - Throws: ``FileRefusal`` with `exists` or `overQuota`; ``Refusal`` with `notReached`.
  func begin(_ account: AccountName, _ new: New, quota: Int64, expiry: Int64) async throws -> FileAddress {
    guard try await content(account, new.name) == nil else { throw FileRefusal.exists }
    let upload = ObjectUpload(
      id: DiskFileStorage.newName(), userId: new.userId, name: new.name, byteCount: new.byteCount, sha256: new.sha256,
      contentType: new.contentType)
    let end = store.clock() + Int64(store.addressSeconds) * 1_000
    let id = try await database(account).write { connection -> String in
      let writer = ObjectTablesWriter(connection: connection)
      let files = FileTablesWriter(connection: connection)
      guard try writer.tables.content(new.name) == nil, try files.tables.content(new.name) == nil else {
        throw FileRefusal.exists
      }
      if let known = try writer.tables.upload(of: new.userId, new.name) {
        if known.isSame(as: upload) {
          try writer.extend(known.id, addressEnd: end, expiry: expiry)
          return known.id
        }
        try writer.giveUp(known.id)
      }
      try writer.insert(upload, addressEnd: end, expiry: expiry)
      try files.check(new.userId, quota: quota)
      return upload.id
    }
    var address = store.addressToSend(
      key(account, id), byteCount: new.byteCount, sha256: new.sha256, contentType: new.contentType)
    address.upload = id
    return address
  }

  /// Looks whether a file has arrived, and makes a content of it. Repeating it changes nothing.
  /// - Throws: ``FileRefusal`` with `exists` when another upload was first, or `gone`; ``Refusal``.
  func confirm(
    _ account: AccountName, _ name: ContentName, by userId: Int64, _ id: String, at time: Int64
  ) async throws {
    let database = try database(account)
    let (upload, content) = try await database.read { connection in
      let tables = ObjectTables(connection: connection)
      return (try tables.upload(id), try tables.content(name))
    }
    if let content, content.id == id { return }
    guard let upload, upload.userId == userId, upload.name == name else {
      throw content == nil ? FileRefusal.gone : FileRefusal.exists
    }
    guard let found = try await find(account, id) else { throw Refusal.notSent }
    if let member = Self.difference(upload, found) {
      try await database.write { try ObjectTablesWriter(connection: $0).giveUp(id) }
      throw Refusal.mismatch(member)
    }
    // What refuses here has to be written down too, so that the bytes go.
    let outcome = try await database.write { connection -> Result<Void, FileRefusal> in
      let writer = ObjectTablesWriter(connection: connection)
      let there = try writer.tables.content(name)
      if there?.id == id { return .success(()) }
      guard try writer.tables.upload(id) != nil else { return .failure(.gone) }
      guard there == nil, try FileTables(connection: connection).content(name) == nil else {
        try writer.giveUp(id)
        return .failure(.exists)
      }
      try writer.finish(upload, at: time)
      return .success(())
    }
    try outcome.get()
  }

  /// Which member of the announcement what is in the store contradicts. A store that does not keep digests says nothing
  /// about them: then devices find out, which have the key.
  private static func difference(_ upload: ObjectUpload, _ found: ObjectStore.Found) -> String? {
    if found.byteCount != upload.byteCount { return "bytes" }
    if let sha256 = found.sha256, sha256 != upload.sha256 { return "sha256" }
    if let type = found.contentType, type.lowercased() != upload.contentType { return "contentType" }
    return nil
  }

  private func find(_ account: AccountName, _ id: String) async throws -> ObjectStore.Found? {
    do {
      return try await store.find(key(account, id))
    } catch let failure as ObjectStore.Failure {
      log.failure("the object store: \(failure)")
      throw Refusal.notReached
    }
  }

  // MARK: Contents

  /// A content; one whose object is gone is none, and makes way.
  /// - Throws: ``Refusal`` with `notReached`.
  func content(_ account: AccountName, _ name: ContentName) async throws -> ObjectContent? {
    let database = try database(account)
    guard let content = try await database.read({ try ObjectTables(connection: $0).content(name) }) else { return nil }
    guard let found = try await find(account, content.id), found.byteCount == content.byteCount else {
      try await database.write { try ObjectTablesWriter(connection: $0).removeContent(content.id) }
      return nil
    }
    return content
  }

  /// Where a content may be fetched; nil when there is none. It is looked whether it is still there, because many stores
  /// refuse whoever asks for what is gone as if the address were wrong.
  /// - Throws: ``Refusal`` with `notReached`.
  func addressToFetch(_ account: AccountName, _ name: ContentName) async throws -> FileAddress? {
    try await content(account, name).map { store.addressToFetch(key(account, $0.id)) }
  }

  /// Whether a content is said to be in the store, which is not asked.
  func knows(_ account: AccountName, _ name: ContentName) async throws -> Bool {
    try await database(account).read { try ObjectTables(connection: $0).content(name) } != nil
  }

  // MARK: Removing

  /// Gives up uploads that have waited too long, and removes from the store what is to go.
  func expire(_ account: AccountName, at time: Int64) async throws {
    let database = try database(account)
    for id in try await database.read({ try ObjectTables(connection: $0).expired(at: time) }) {
      try await database.write { try ObjectTablesWriter(connection: $0).giveUp(id) }
    }
    try await remove(account, at: time)
  }

  /// Removes contents that no record needs.
  func sweep(_ account: AccountName, _ rule: SweepRule, at time: Int64) async throws {
    let database = try database(account)
    var last = ""
    while true {
      let contents = try await database.read { [last] in
        try ObjectTables(connection: $0).contents(after: last, limit: 500)
      }
      guard let end = contents.last else { break }
      last = end
      let used = try await rule.inUse(contents)
      try await database.write { connection in
        let writer = ObjectTablesWriter(connection: connection)
        for content in contents {
          if used.contains(content) {
            try writer.markUsed(content)
          } else {
            try writer.removeUnused(content, neverUsedBefore: rule.neverUsedBefore)
          }
        }
      }
    }
    try await remove(account, at: time)
  }

  /// Removes objects whose rows are gone. What the store does not do now it does the next time.
  private func remove(_ account: AccountName, at time: Int64) async throws {
    let database = try database(account)
    while true {
      let ids = try await database.read { try ObjectTables(connection: $0).removals(at: time, limit: 100) }
      if ids.isEmpty { return }
      for id in ids {
        try Task.checkCancellation()
        try await store.remove(key(account, id))
        try await database.write { try ObjectTablesWriter(connection: $0).removed([id]) }
      }
    }
  }
}
