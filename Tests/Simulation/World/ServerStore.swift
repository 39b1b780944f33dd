import CipherSQL
import Foundation
import SQLCipherStorage
import ServerStorage
import SyncServer
import TestSupport

/// The server's database, read from beside the server.
struct ServerStore {
  let data: String
  let workload: Workload

  /// A version of a record, as the server stored it.
  struct Version {
    let entity: String
    let uuid: String
    let version: Int64
    let isDeleted: Bool
    let marker: String?
    let serverId: Int64
    /// Whether the server has forgotten the record, whose deletion was its last version.
    let isForgotten: Bool
  }

  func open() throws -> Database {
    let accounts = try Files.names(in: data + "/accounts")
    guard let account = accounts.first, accounts.count == 1 else { throw Unexpected("accounts: \(accounts)") }
    return try ServerFolder(data, isCreating: false).openDatabase(
      "accounts/\(account)/records.db", keyName: "account \(account)", readers: 1)
  }

  /// From now on the database itself writes down each version of each record, in the transaction that makes it.
  func keepHistory() throws {
    let database = try open()
    defer { database.close() }
    try database.write { connection in
      try connection.execute(
        """
        CREATE TABLE SimulationHistory (
          history INTEGER PRIMARY KEY, entityType TEXT NOT NULL, entityUuid TEXT NOT NULL, version INTEGER NOT NULL,
          isDeleted INTEGER NOT NULL, marker TEXT, serverId INTEGER NOT NULL, isForgotten INTEGER NOT NULL DEFAULT 0) STRICT
        """)
      try connection.execute(
        "CREATE UNIQUE INDEX SimulationHistory_version ON SimulationHistory (entityUuid, version) WHERE isForgotten = 0"
      )
      try keepForgotten(connection)
      // Deletions of records that the server did not have.
      try connection.execute("CREATE TABLE SimulationTombstone (entityUuid TEXT PRIMARY KEY) STRICT")
      try connection.execute(
        """
        CREATE TRIGGER simulation_tombstone AFTER INSERT ON ServerTombstone
        BEGIN INSERT OR IGNORE INTO SimulationTombstone VALUES (NEW.entityUuid); END
        """)
      try keepVersions(connection)
    }
  }

  /// Writes down the versions of records of tables that an upgrade has added, too.
  func keepVersionsOfAdded() throws {
    let database = try open()
    defer { database.close() }
    try database.write { try keepVersions($0) }
  }

  private func keepVersions(_ connection: WriteConnection) throws {
    func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
    for (number, kind) in workload.kinds.enumerated() {
      for event in ["INSERT", "UPDATE"] {
        // An upgrade may have renamed the field.
        try connection.execute(SQL(raw: "DROP TRIGGER IF EXISTS simulation_\(event)_\(number)"))
        try connection.execute(
          SQL(
            raw: """
              CREATE TRIGGER simulation_\(event)_\(number) AFTER \(event) ON ServerRecord
              WHEN NEW.entityType = \(quoted(kind.entity))
              BEGIN
                INSERT INTO SimulationHistory (entityType, entityUuid, version, isDeleted, marker, serverId)
                  SELECT NEW.entityType, NEW.entityUuid, NEW.version, NEW.isDeleted,
                    (SELECT value FROM json_each(NEW.fields) WHERE key = \(quoted(kind.marker))), NEW.serverId
                  WHERE NOT EXISTS (SELECT 1 FROM SimulationHistory AS other
                    WHERE other.entityUuid = NEW.entityUuid AND other.version = NEW.version AND other.isForgotten = 0);
              END
              """))
      }
    }
  }

  /// Writes down the deletions and responses that the server forgets.
  private func keepForgotten(_ connection: WriteConnection) throws {
    try connection.execute(
      "CREATE TABLE SimulationForgotten (number INTEGER PRIMARY KEY, history INTEGER NOT NULL) STRICT")
    try connection.execute(
      """
      CREATE TRIGGER simulation_forgotten AFTER DELETE ON ServerRecord
      BEGIN
        INSERT INTO SimulationForgotten (history)
          SELECT max(history) FROM SimulationHistory WHERE entityUuid = OLD.entityUuid HAVING count(*) > 0;
        UPDATE SimulationHistory SET isForgotten = 1 WHERE entityUuid = OLD.entityUuid;
      END
      """)
    try connection.execute(
      """
      CREATE TABLE SimulationAnswer (
        number INTEGER PRIMARY KEY, idempotencyKey TEXT NOT NULL, answer TEXT NOT NULL) STRICT
      """)
    try connection.execute(
      """
      CREATE TRIGGER simulation_answer AFTER DELETE ON ServerAnswer
      BEGIN INSERT INTO SimulationAnswer (idempotencyKey, answer) VALUES (OLD.idempotencyKey, OLD.answer); END
      """)
  }

  /// The responses that the server has, and those that it has forgotten, by idempotency key.
  func responses(in connection: Connection) throws -> [(key: String, response: String, isForgotten: Bool)] {
    try connection.fetchRows(
      """
      SELECT idempotencyKey, answer, 0 FROM ServerAnswer UNION ALL SELECT idempotencyKey, answer, 1 FROM SimulationAnswer
      """, as: String.self, String.self, Bool.self
    ).map { (key: $0.0, response: $0.1, isForgotten: $0.2) }
  }

  func mark(at time: Int64, in connection: Connection) throws -> RetentionMark {
    func last(_ column: String, _ table: String) throws -> Int64 {
      try connection.fetchOne("SELECT max(\(identifier: column)) FROM \(identifier: table)", as: Int64?.self)
        .flatMap { $0 } ?? 0
    }
    return RetentionMark(
      time: time, versions: try last("history", "SimulationHistory"),
      deletions: try last("number", "SimulationForgotten"), answers: try last("number", "SimulationAnswer"))
  }

  /// The records whose deletion came when the server did not have them.
  func tombstones(in connection: Connection) throws -> Set<String> {
    Set(try connection.fetch("SELECT entityUuid FROM SimulationTombstone", as: String.self))
  }

  func history(in connection: Connection) throws -> [Version] {
    var versions: [Version] = []
    try connection.forEach(
      """
      SELECT entityType, entityUuid, version, isDeleted, marker, serverId, isForgotten FROM SimulationHistory
      ORDER BY history
      """
    ) { row in
      versions.append(
        Version(
          entity: try row.decode(at: 0), uuid: try row.decode(at: 1), version: try row.decode(at: 2),
          isDeleted: try row.decode(at: 3), marker: try row.decode(at: 4), serverId: try row.decode(at: 5),
          isForgotten: try row.decode(at: 6)))
    }
    return versions
  }
}
