import CipherSQL
import Foundation

// Written by hand, to the letter as the schema compiler writes it.

enum RoomStatus: String, SQLEnumeration {
  case none, active, done
}

struct Room: Sendable, Hashable {
  var roomId: Int64 = 0
  var uuid: UUID = UUID.version7()
  var projectId: Int64 = 0
  var title: String = ""
  var status: RoomStatus = .active
  var squareFootage: Double? = nil
  var floor: Int64 = 0
  var note: String? = nil
  var updatedAt: Date = Date(millisecondsSince1970: 0)
  var isDeleted: Bool = false
}

extension Room: SoftDeletable, KeyedRecord {
  struct Columns: RecordColumns {
    typealias Owner = Room
    let qualifier: String
    init(qualifier: String) { self.qualifier = qualifier }
    var roomId: Column<Room, Int64> { Column("roomId", of: qualifier) }
    var uuid: Column<Room, UUID> { Column("uuid", of: qualifier) }
    var projectId: Column<Room, Int64> { Column("projectId", of: qualifier) }
    var title: Column<Room, String> { Column("title", of: qualifier) }
    var status: Column<Room, RoomStatus> { Column("status", of: qualifier) }
    var squareFootage: Column<Room, Double?> { Column("squareFootage", of: qualifier) }
    var floor: Column<Room, Int64> { Column("floor", of: qualifier) }
    var note: Column<Room, String?> { Column("note", of: qualifier) }
    var updatedAt: Column<Room, Date> { Column("updatedAt", of: qualifier) }
    var isDeleted: Column<Room, Bool> { Column("isDeleted", of: qualifier) }
  }

  static var tableName: StaticString { "OfflineRoom" }
  static let columnNames: [StaticString] = [
    "roomId", "uuid", "projectId", "title", "status", "squareFootage", "floor", "note", "updatedAt", "isDeleted",
  ]
  static var selectSQL: StaticString {
    "SELECT roomId, uuid, projectId, title, status, squareFootage, floor, note, updatedAt, isDeleted FROM OfflineRoom"
  }
  static var findSQL: StaticString {
    """
    SELECT roomId, uuid, projectId, title, status, squareFootage, floor, note, updatedAt, isDeleted
    FROM OfflineRoom WHERE roomId = ? AND isDeleted = 0
    """
  }
  static var insertSQL: StaticString {
    """
    INSERT INTO OfflineRoom (roomId, uuid, projectId, title, status, squareFootage, floor, note, updatedAt, isDeleted)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
  }
  static var updateSQL: StaticString {
    """
    UPDATE OfflineRoom SET uuid = ?, projectId = ?, title = ?, status = ?, squareFootage = ?, floor = ?, note = ?, updatedAt = ?, isDeleted = ?
    WHERE roomId = ?
    """
  }
  static var deleteSQL: StaticString { "DELETE FROM OfflineRoom WHERE roomId = ?" }

  var key: Int64 { roomId }

  init(from row: borrowing Row, at first: Int32) throws(SQLError) {
    roomId = try row.decode(at: first + 0)
    uuid = try row.decode(at: first + 1)
    projectId = try row.decode(at: first + 2)
    title = try row.decode(at: first + 3)
    status = try row.decode(at: first + 4)
    squareFootage = try row.decode(at: first + 5)
    floor = try row.decode(at: first + 6)
    note = try row.decode(at: first + 7)
    updatedAt = try row.decode(at: first + 8)
    isDeleted = try row.decode(at: first + 9)
  }

  func bindInsert(to statement: Statement) throws(SQLError) {
    try statement.bind(roomId == 0 ? nil : roomId, at: 1)
    try statement.bind(uuid, at: 2)
    try statement.bind(projectId, at: 3)
    try statement.bind(title, at: 4)
    try statement.bind(status, at: 5)
    try statement.bind(squareFootage, at: 6)
    try statement.bind(floor, at: 7)
    try statement.bind(note, at: 8)
    try statement.bind(updatedAt, at: 9)
    try statement.bind(isDeleted, at: 10)
  }

  func bindUpdate(to statement: Statement) throws(SQLError) {
    try statement.bind(uuid, at: 1)
    try statement.bind(projectId, at: 2)
    try statement.bind(title, at: 3)
    try statement.bind(status, at: 4)
    try statement.bind(squareFootage, at: 5)
    try statement.bind(floor, at: 6)
    try statement.bind(note, at: 7)
    try statement.bind(updatedAt, at: 8)
    try statement.bind(isDeleted, at: 9)
    try statement.bind(roomId, at: 10)
  }

  mutating func didInsert(rowID: Int64) { roomId = rowID }
}

extension Room {
  static let project = ToOne<Room, Project, Int64>(
    targetColumn: "projectId", sourceKey: { $0.projectId }, targetKey: { $0.projectId })
  static let logs = ToMany<Room, Log, Int64>(
    targetColumn: "roomId", sourceKey: { $0.roomId }, targetKey: { $0.roomId })
}
