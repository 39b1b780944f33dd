import CipherSQL
import Foundation
import TestSupport

/// The schema of the tests: three tables as a field application has them.
let testSchema = """
  CREATE TABLE OfflineProject (
    projectId INTEGER PRIMARY KEY,
    uuid TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    isDeleted INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE OfflineRoom (
    roomId INTEGER PRIMARY KEY,
    uuid TEXT NOT NULL UNIQUE,
    projectId INTEGER NOT NULL REFERENCES OfflineProject,
    title TEXT NOT NULL CHECK (title <> ''),
    status TEXT NOT NULL CHECK (status IN ('none', 'active', 'done')),
    squareFootage REAL,
    floor INTEGER NOT NULL,
    note TEXT,
    updatedAt TEXT NOT NULL,
    isDeleted INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX OfflineRoom_byProject ON OfflineRoom (projectId, isDeleted, updatedAt);
  CREATE INDEX OfflineRoom_byFloor ON OfflineRoom (floor, title);
  CREATE TABLE OfflineLog (
    logId INTEGER PRIMARY KEY,
    roomId INTEGER REFERENCES OfflineRoom,
    text TEXT NOT NULL,
    updatedAt TEXT NOT NULL,
    isDeleted INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX OfflineLog_byRoom ON OfflineLog (roomId);
  """

extension WriteConnection {
  /// Runs statements that end with `;` and a line break.
  func run(script: String) throws {
    for sql in script.components(separatedBy: ";\n") where !sql.allSatisfy(\.isWhitespace) {
      try execute(SQL(raw: sql))
    }
  }
}

extension Database {
  /// A database in memory with the schema and nothing in it.
  static func empty() throws -> Database {
    let database = try Database.inMemory()
    try database.write { try $0.run(script: testSchema) }
    return database
  }

  /// A database in memory with the house of ``fillHouse(_:)``.
  static func house() throws -> Database {
    let database = try Database.empty()
    try database.write(fillHouse)
    return database
  }
}

/// Two projects; four rooms, one of them marked as deleted; four logs, one without a room and one in the deleted
/// room.
func fillHouse(_ db: WriteConnection) throws {
  func day(_ number: Int64) -> Date { Date(millisecondsSince1970: number * 86_400_000) }
  try db.insert(Project(projectId: 1, title: "Mill Lane"))
  try db.insert(Project(projectId: 2, title: "Harbour"))
  try db.insert(
    Room(roomId: 1, projectId: 1, title: "Attic", squareFootage: 120, floor: 2, note: "damp", updatedAt: day(1)))
  try db.insert(
    Room(roomId: 2, projectId: 1, title: "Kitchen", status: .done, squareFootage: 200, floor: 1, updatedAt: day(3)))
  try db.insert(Room(roomId: 3, projectId: 2, title: "Cellar", status: .none, floor: 0, updatedAt: day(2)))
  try db.insert(Room(roomId: 4, projectId: 1, title: "Hall", floor: 1, updatedAt: day(4), isDeleted: true))
  try db.insert(Log(logId: 1, roomId: 1, text: "wet", updatedAt: day(1)))
  try db.insert(Log(logId: 2, roomId: 1, text: "less wet", updatedAt: day(2)))
  try db.insert(Log(logId: 3, roomId: nil, text: "on the way", updatedAt: day(3)))
  try db.insert(Log(logId: 4, roomId: 4, text: "gone", updatedAt: day(4)))
}

/// The steps that SQLite takes for a statement, as EXPLAIN QUERY PLAN tells.
func plan(_ db: Connection, _ sql: SQL) throws -> [String] {
  var steps: [String] = []
  try db.forEach(SQL(raw: "EXPLAIN QUERY PLAN ", arguments: []) + sql) { row in
    steps.append(try row.decode(String.self, at: 3))
  }
  return steps
}

/// A database file in a folder of its own, which is removed with this value.
final class TemporaryVault: Sendable {
  let folder: TemporaryFolder
  let key: PlainKey
  var path: String { folder.file("test.db") }

  init(key: PlainKey = .random()) throws {
    folder = try TemporaryFolder()
    self.key = key
  }

  func open(_ configuration: Configuration = Configuration()) throws -> Database {
    try Database(path: path, key: key, configuration: configuration)
  }

  /// Opens it with the schema of the tests.
  func openHouse(_ configuration: Configuration = Configuration()) throws -> Database {
    let database = try open(configuration)
    try database.write { db in
      try db.run(script: testSchema)
      try fillHouse(db)
    }
    return database
  }
}

/// The seed of the property tests, which is part of every failure.
let testSeed = freshSeed("CipherSQLTests")
