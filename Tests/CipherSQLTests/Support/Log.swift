import CipherSQL
import Foundation

// Written by hand, to the letter as the schema compiler writes it.

struct Log: Sendable, Hashable {
  var logId: Int64 = 0
  var roomId: Int64? = nil
  var text: String = ""
  var updatedAt: Date = Date(millisecondsSince1970: 0)
  var isDeleted: Bool = false
}

extension Log: SoftDeletable, KeyedRecord {
  struct Columns: RecordColumns {
    typealias Owner = Log
    let qualifier: String
    init(qualifier: String) { self.qualifier = qualifier }
    var logId: Column<Log, Int64> { Column("logId", of: qualifier) }
    var roomId: Column<Log, Int64?> { Column("roomId", of: qualifier) }
    var text: Column<Log, String> { Column("text", of: qualifier) }
    var updatedAt: Column<Log, Date> { Column("updatedAt", of: qualifier) }
    var isDeleted: Column<Log, Bool> { Column("isDeleted", of: qualifier) }
  }

  static var tableName: StaticString { "OfflineLog" }
  static let columnNames: [StaticString] = [
    "logId", "roomId", "text", "updatedAt", "isDeleted",
  ]
  static var selectSQL: StaticString {
    "SELECT logId, roomId, text, updatedAt, isDeleted FROM OfflineLog"
  }
  static var findSQL: StaticString {
    """
    SELECT logId, roomId, text, updatedAt, isDeleted
    FROM OfflineLog WHERE logId = ? AND isDeleted = 0
    """
  }
  static var insertSQL: StaticString {
    """
    INSERT INTO OfflineLog (logId, roomId, text, updatedAt, isDeleted)
    VALUES (?, ?, ?, ?, ?)
    """
  }
  static var updateSQL: StaticString {
    """
    UPDATE OfflineLog SET roomId = ?, text = ?, updatedAt = ?, isDeleted = ?
    WHERE logId = ?
    """
  }
  static var deleteSQL: StaticString { "DELETE FROM OfflineLog WHERE logId = ?" }

  var key: Int64 { logId }

  init(from row: borrowing Row, at first: Int32) throws(SQLError) {
    logId = try row.decode(at: first + 0)
    roomId = try row.decode(at: first + 1)
    text = try row.decode(at: first + 2)
    updatedAt = try row.decode(at: first + 3)
    isDeleted = try row.decode(at: first + 4)
  }

  func bindInsert(to statement: Statement) throws(SQLError) {
    try statement.bind(logId == 0 ? nil : logId, at: 1)
    try statement.bind(roomId, at: 2)
    try statement.bind(text, at: 3)
    try statement.bind(updatedAt, at: 4)
    try statement.bind(isDeleted, at: 5)
  }

  func bindUpdate(to statement: Statement) throws(SQLError) {
    try statement.bind(roomId, at: 1)
    try statement.bind(text, at: 2)
    try statement.bind(updatedAt, at: 3)
    try statement.bind(isDeleted, at: 4)
    try statement.bind(logId, at: 5)
  }

  mutating func didInsert(rowID: Int64) { logId = rowID }
}

extension Log {
  static let room = ToOne<Log, Room, Int64>(
    targetColumn: "roomId", sourceKey: { $0.roomId }, targetKey: { $0.roomId })
}
