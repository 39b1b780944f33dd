import CipherSQL
import Foundation
import Platform
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import PostgresStorage

/// A file with the keys of an operator.
struct SealKeyFile {
  private let folder: TemporaryFolder
  let path: String

  init(_ lines: [String] = [SealKeyFile.key()]) throws {
    folder = try TemporaryFolder()
    path = folder.path + "/seal.key"
    try write(lines)
  }

  /// Returns a new line.
  static func key() -> String { HexText.text(Environment.system.random.bytes(32)) }

  var lines: [String] {
    get throws { try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init) }
  }

  func write(_ lines: [String], mode: Int = 0o600) throws {
    try lines.map { $0 + "\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  /// Adds a first line.
  func addFirst() throws { try write([Self.key()] + lines) }

  func keys() throws -> SealKeys { try SealKeys(file: path) }
}

/// Values that are sealed under a key of the account.
@Suite(.serialized) struct SealedValuesTests {
  private static let accounts = StorageConformance.accounts
  private var account: AccountName { Self.accounts[0] }

  private static let schema = Schema(
    name: "things",
    migrations: [
      MigrationFile(
        version: 1, name: "things",
        sql: SyncedTable.sql("Kind", "code TEXT NOT NULL UNIQUE, title TEXT", schema: "things")
          + SyncedTable.sql("Thing", "kind TEXT REFERENCES Kind (code), title TEXT", schema: "things"))
    ])

  private let server: PostgresServer
  private let database: String
  private let file: SealKeyFile

  init() throws {
    server = try SharedPostgres.server
    database = try server.makeDatabase()
    file = try SealKeyFile()
  }

  private func settings(_ keys: SealKeys?) -> PostgresSettings {
    var settings = PostgresSettings(url: server.url(database))
    (settings.connections, settings.sealKeys, settings.retrySeconds) = (4, keys, 1)
    return settings
  }

  /// Returns a storage on the existing database.
  private func node(_ keys: SealKeys?, log: @escaping @Sendable (String) -> Void = { _ in }) throws -> PostgresStorage {
    try PostgresStorage(PostgresDatabase(settings(keys)), schemas: [Self.schema], log: log)
  }

  private func makeFirst(_ keys: SealKeys?) throws -> PostgresStorage {
    try makeStorage(settings(keys), schemas: [Self.schema])
  }

  private let kind = RecordName("Kind", newUuid())
  private let thing = RecordName("Thing", newUuid())

  private func store(_ account: AccountName, on storage: PostgresStorage, title: String = "Secret-Pump") async throws {
    try await storage.write(account) { data in
      func store(_ name: RecordName, _ fields: SyncObject) throws {
        let before = try data.record(name)
        _ = try data.store(name, over: before, RecordState(fields: fields, updatedAt: 5), createdAt: 5, at: 5)
      }
      try store(kind, ["code": "Secret-Code", "title": .text(title)])
      try store(thing, ["kind": .text(kind.entityUuid), "title": .text(title)])
      try data.keep(
        response: #"{"lost":"Secret-Answer"}"#, to: OperationContent(key: "key", operation: ["a": "Secret-Op"]), at: 5)
      try data.keep(DeviceCounter(counter: 1, digest: "Secret-Digest"), of: "tablet", at: 5)
    }
  }

  /// Checks what an account has after ``store(_:on:title:)``.
  private func check(_ account: AccountName, on storage: PostgresStorage, title: String = "Secret-Pump") async throws {
    try await storage.write(account) { data in
      #expect(try data.record(thing)?.state.fields["title"] == .text(title))
      #expect(try data.record(kind)?.state.fields["code"] == "Secret-Code")
      #expect(try data.storedResponse(for: "key")?.result == #"{"lost":"Secret-Answer"}"#)
      #expect(try data.mark(of: "tablet")?.digest == "Secret-Digest")
      let digests = try data.recordDigests(of: "Thing", buckets: [String(thing.entityUuid.suffix(2))], projects: nil)
      #expect(digests.first?.digest == (try data.entityDigests(projects: nil)["Thing"]?.digest))
      #expect(throws: StorageRefusal.self, "the code is held") {
        try data.attempt {
          _ = try data.store(
            RecordName("Kind", newUuid()), over: nil, RecordState(fields: ["code": "Secret-Code"], updatedAt: 6),
            createdAt: 6, at: 6)
        }
      }
      let deletion = try #require(try data.record(kind)).state.applying(RecordPatch(isDeleted: true, updatedAt: 7))
      #expect(throws: StorageRefusal.self, "the thing references the kind by its code") {
        try data.attempt {
          let deleted = try data.store(kind, over: try data.record(kind), deletion, createdAt: 5, at: 7)
          _ = try data.cascade(from: deleted, at: 7)
        }
      }
    }
  }

  /// Everything in the tables of the database, as text.
  private func dump() throws -> String {
    let names = try server.sql(
      "SELECT tablename FROM pg_tables WHERE schemaname = 'fieldvault' AND tablename !~ '_[0-9]+$'", database: database)
    return try names.split(separator: "\n").map {
      try server.sql("SELECT row::text FROM fieldvault.\($0) AS row", database: database)
    }.joined()
  }

  /// The sealed values and codes in the database.
  private func values() throws -> Set<Substring> {
    let text = try server.sql(
      """
      SELECT unnest(ARRAY[fields, digest, keys]) FROM fieldvault.record UNION ALL SELECT result FROM fieldvault.response
      UNION ALL SELECT digest FROM fieldvault.bucket UNION ALL SELECT digest FROM fieldvault.device
      UNION ALL SELECT value FROM fieldvault.unique_key
      """, database: database)
    return Set(text.split(separator: "\n"))
  }

  private func viewCount() throws -> String {
    try server.sql("SELECT count(*) FROM pg_views WHERE schemaname = 'fieldvault_report'", database: database)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func digestOfRecord(_ storage: PostgresStorage) async throws -> String {
    try await storage.read(account) { try #require(try $0.entityDigests(projects: nil)["Thing"]?.digest) }
  }

  @Test("no value of a record is in the database, and references, versions and times are")
  func secrecy() async throws {
    let storage = try makeFirst(try file.keys())
    defer { storage.close() }
    try await store(account, on: storage)
    try await check(account, on: storage)
    let text = try dump()
    #expect(!text.contains("Secret"))
    let digest = try await digestOfRecord(storage)
    #expect(!text.contains(digest))
    #expect(text.contains(thing.entityUuid) && text.contains(account.name))
    #expect(try viewCount() == "0")
  }

  @Test(
    "an account from before the keys is sealed at its first request, as are all accounts by a rotation",
    arguments: [true, false])
  func later(_ isByRotation: Bool) async throws {
    let plain = try makeFirst(nil)
    try await plain.viewsAreCreated()
    try await store(account, on: plain)
    try await store(Self.accounts[1], on: plain)
    let digest = try await digestOfRecord(plain)
    #expect(try dump().contains("Secret-Pump") && dump().contains(digest), "the check finds unsealed values")
    #expect(try viewCount() == "2")
    plain.close()
    let storage = try node(try file.keys())
    defer { storage.close() }
    try await storage.viewsAreCreated()
    if isByRotation {
      #expect(try await storage.rotateSealKeys(renewingAccountKeys: false) == Self.accounts.count)
    } else {
      try await check(account, on: storage)
      #expect(try dump().contains("Secret"), "the other account is not sealed yet")
      try await check(Self.accounts[1], on: storage)
    }
    #expect(try !dump().contains("Secret") && !dump().contains(digest))
    try await check(account, on: storage)
    #expect(try await digestOfRecord(storage) == digest)
    #expect(try viewCount() == "0")
    // A node without keys that was running meanwhile.
    let error = await #expect(throws: ServerError.self) { try await check(account, on: plain) }
    #expect(error?.code == .busy)
  }

  @Test("a rotation wraps the keys of accounts under the first key while nodes run, and the former key can go")
  func rotation() async throws {
    let former = try file.lines
    let running = try makeFirst(try file.keys())
    defer { running.close() }
    try await store(account, on: running)
    let before = try values()
    try file.addFirst()
    let rotating = try node(try file.keys())
    #expect(try await rotating.rotateSealKeys(renewingAccountKeys: false) == Self.accounts.count)
    #expect(try await rotating.rotateSealKeys(renewingAccountKeys: false) == 0)
    rotating.close()
    // The node has read the file before it had the new key. An account that has no key yet gets one under the new key.
    let added = AccountName(name: "added", folder: HexText.text(Environment.system.random.bytes(16)))
    _ = try PostgresConnection(settings(nil), clock: .system).run(AccountRow.insert(added, at: 1, epoch: newUuid()))
    try await store(added, on: running)
    try await check(account, on: running)
    try await store(Self.accounts[1], on: running)
    try file.write(Array(try file.lines.dropLast()))
    let later = try node(try file.keys())
    defer { later.close() }
    for account in Self.accounts.prefix(2) { try await check(account, on: later) }
    #expect(try before.count > 6 && before.isSubset(of: values()), "a rotation leaves values as they are")
    try await check(added, on: later)
    #expect(try await later.rotateSealKeys(renewingAccountKeys: true) == Self.accounts.count + 1)
    for account in Self.accounts.prefix(2) { try await check(account, on: later) }
    try await check(added, on: later)
    #expect(try before.isDisjoint(with: values()), "values are sealed again under a new key")
    // The former key opens nothing.
    try file.write(former)
    let error = #expect(throws: ServerError.self) { try node(try file.keys()) }
    #expect(error?.code == .badSealKeys && error?.message.contains("lacks the key") == true)
  }

  @Test("an account whose wrapping key is missing waits for it and harms no other")
  func missingKey() async throws {
    let storage = try makeFirst(try file.keys())
    defer { storage.close() }
    for account in Self.accounts.prefix(2) { try await store(account, on: storage) }
    let lines = try file.lines
    let other = try SealKeyFile(lines)
    try other.addFirst()
    let elsewhere = try node(try other.keys())
    defer { elsewhere.close() }
    #expect(try await elsewhere.rotateSealKeys(renewingAccountKeys: false) == Self.accounts.count)
    let error = await #expect(throws: ServerError.self) { try await check(account, on: storage) }
    #expect(error?.code == .badSealKeys && error?.message.contains(file.path) == true, "\(String(describing: error))")
    try file.write(try other.lines)
    try await check(account, on: storage)
  }

  @Test(
    "a sealed value opens only where it was stored", arguments: ["fields", "digest", "keys"],
    ["another record", "an earlier version"])
  func moved(_ column: String, _ origin: String) async throws {
    let storage = try makeFirst(try file.keys())
    defer { storage.close() }
    for account in Self.accounts.prefix(2) { try await store(account, on: storage) }
    let other = RecordName("Thing", newUuid())
    _ = try await storage.write(account) { data in
      try data.store(
        other, over: nil, RecordState(fields: ["title": "Other"], updatedAt: 5), createdAt: 5, at: 5)
    }
    let name = origin == "another record" ? other : thing
    let place = "replace(account_id::text, '-', '') = '\(account.folder)' AND entity_uuid"
    let value = try server.sql(
      "SELECT \(column) FROM fieldvault.record WHERE \(place) = '\(name.entityUuid)'", database: database
    ).trimmingCharacters(in: .whitespacesAndNewlines)
    _ = try await storage.write(account) { data in
      let before = try data.record(thing)
      let state = try #require(before).state.applying(RecordPatch(fields: ["title": "Later"], updatedAt: 6))
      return try data.store(thing, over: before, state, createdAt: 5, at: 6)
    }
    try server.sql(
      "UPDATE fieldvault.record SET \(column) = '\(value)' WHERE \(place) = '\(thing.entityUuid)'", database: database)
    let error = await #expect(throws: ServerError.self) { try await check(account, on: storage) }
    #expect(error?.code == .damaged && error?.message.contains("fieldvault.record.\(column)") == true)
    try await check(Self.accounts[1], on: storage)
    _ = try server.sql(
      "UPDATE fieldvault.account SET sealed_key = overlay(sealed_key placing 'AAAA' from 30)", database: database)
    let key = await #expect(throws: ServerError.self) { try await check(Self.accounts[1], on: storage) }
    #expect(key?.code == .damaged)
  }

  @Test("a file without valid keys, and a node without the keys of the database, are refused")
  func badKeys() async throws {
    let good = try file.lines[0]
    let wrong: [([String], Int, String)] = [
      ([], 0o600, "has no key"), ([good, ""], 0o600, "line 2"), ([good, good + "0"], 0o600, "line 2"),
      ([String(good.dropLast()) + "g"], 0o600, "line 1"), ([good], 0o644, "other users"),
      (Array(repeating: good, count: 101), 0o600, "more than 100"),
    ]
    for (lines, mode, message) in wrong {
      try file.write(lines, mode: mode)
      let error = #expect(throws: ServerError.self) { try file.keys() }
      #expect(error?.code == .badSealKeys && error?.message.contains(message) == true, "\(String(describing: error))")
      #expect(error?.message.contains(good) == false && error?.remedy != nil)
    }
    let missing = #expect(throws: ServerError.self) { try SealKeys(file: "/nowhere/keys") }
    #expect(missing?.message.contains("/nowhere/keys") == true)
    try file.write([good])
    try makeFirst(try file.keys()).close()
    let error = #expect(throws: ServerError.self) { try node(nil) }
    #expect(error?.code == .badSealKeys && error?.remedy == .nameSealKeys)
  }

  @Test("a new key becomes the first line of a file, and a file that is no list of keys stays")
  func newKeys() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/seal.key"
    let first = try SealKeys.addKey(to: path)
    #expect(try SealKeys(file: path).current == first)
    let second = try SealKeys.addKey(to: path)
    #expect(try first != second && SealKeys(file: path).current == second)
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(Set(lines.map(\.count)) == [64] && lines.count == 2)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    try file.write([])
    let only = try SealKeys.addKey(to: file.path)
    #expect(try file.keys().current == only)
    try file.write(["no key"])
    #expect(throws: ServerError.self) { try SealKeys.addKey(to: file.path) }
    #expect(try file.lines == ["no key"])
    let error = #expect(throws: ServerError.self) { try SealKeys.addKey(to: folder.path + "/none/seal.key") }
    #expect(error?.message.contains("none/seal.key") == true)
  }
}
