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
          number INTEGER PRIMARY KEY, entityType TEXT NOT NULL, entityUuid TEXT NOT NULL, version INTEGER NOT NULL,
          isDeleted INTEGER NOT NULL, marker TEXT, serverId INTEGER NOT NULL, UNIQUE (entityUuid, version)) STRICT
        """)
      // Deletions of records that the server did not have.
      try connection.execute("CREATE TABLE SimulationTombstone (entityUuid TEXT PRIMARY KEY) STRICT")
      try connection.execute(
        """
        CREATE TRIGGER simulation_tombstone AFTER INSERT ON ServerTombstone
        BEGIN INSERT OR IGNORE INTO SimulationTombstone VALUES (NEW.entityUuid); END
        """)
      for (number, kind) in workload.kinds.enumerated() {
        let (table, marker) = (SQL.quoted(kind.table), SQL.quoted(kind.marker))
        for event in ["INSERT", "UPDATE"] {
          try connection.execute(
            SQL(
              raw: """
                CREATE TRIGGER simulation_\(event)_\(number) AFTER \(event) ON ServerRecord
                WHEN NEW.entityType = '\(kind.entity.replacing("'", with: "''"))'
                BEGIN
                  INSERT INTO SimulationHistory (entityType, entityUuid, version, isDeleted, marker, serverId)
                    SELECT NEW.entityType, NEW.entityUuid, record.syncVersion, NEW.isDeleted, record.\(marker), NEW.serverId
                    FROM \(table) AS record WHERE record.uuid = NEW.entityUuid
                      AND NOT EXISTS (SELECT 1 FROM SimulationHistory AS other
                        WHERE other.entityUuid = NEW.entityUuid AND other.version = record.syncVersion);
                END
                """))
        }
        // The values of a version may be written after it.
        try connection.execute(
          SQL(
            raw: """
              CREATE TRIGGER simulation_marker_\(number) AFTER UPDATE OF \(marker) ON \(table)
              WHEN NEW.\(marker) IS NOT OLD.\(marker)
              BEGIN
                UPDATE SimulationHistory SET marker = NEW.\(marker)
                  WHERE entityUuid = NEW.uuid AND version = NEW.syncVersion;
              END
              """))
      }
    }
  }

  /// The records whose deletion came when the server did not have them.
  func tombstones(in connection: Connection) throws -> Set<String> {
    Set(try connection.fetch("SELECT entityUuid FROM SimulationTombstone", as: String.self))
  }

  func history(in connection: Connection) throws -> [Version] {
    var versions: [Version] = []
    try connection.forEach(
      """
      SELECT entityType, entityUuid, version, isDeleted, marker, serverId FROM SimulationHistory ORDER BY number
      """
    ) { row in
      versions.append(
        Version(
          entity: try row.decode(at: 0), uuid: try row.decode(at: 1), version: try row.decode(at: 2),
          isDeleted: try row.decode(at: 3), marker: try row.decode(at: 4), serverId: try row.decode(at: 5)))
    }
    return versions
  }
}
