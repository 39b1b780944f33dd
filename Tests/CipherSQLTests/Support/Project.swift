import CipherSQL
import Foundation

// Written by hand, to the letter as the schema compiler writes it.

struct Project: Sendable, Hashable {
  var projectId: Int64 = 0
  var uuid: UUID = UUID.version7()
  var title: String = ""
  var isDeleted: Bool = false
}

extension Project: SoftDeletable, KeyedRecord {
  struct Columns: RecordColumns {
    typealias Owner = Project
    let qualifier: String
    init(qualifier: String) { self.qualifier = qualifier }
    var projectId: Column<Project, Int64> { Column("projectId", of: qualifier) }
    var uuid: Column<Project, UUID> { Column("uuid", of: qualifier) }
    var title: Column<Project, String> { Column("title", of: qualifier) }
    var isDeleted: Column<Project, Bool> { Column("isDeleted", of: qualifier) }
  }

  static var tableName: StaticString { "OfflineProject" }
  static let columnNames: [StaticString] = [
    "projectId", "uuid", "title", "isDeleted",
  ]
  static var selectSQL: StaticString {
    "SELECT projectId, uuid, title, isDeleted FROM OfflineProject"
  }
  static var findSQL: StaticString {
    """
    SELECT projectId, uuid, title, isDeleted
    FROM OfflineProject WHERE projectId = ? AND isDeleted = 0
    """
  }
  static var insertSQL: StaticString {
    """
    INSERT INTO OfflineProject (projectId, uuid, title, isDeleted)
    VALUES (?, ?, ?, ?)
    """
  }
  static var updateSQL: StaticString {
    """
    UPDATE OfflineProject SET uuid = ?, title = ?, isDeleted = ?
    WHERE projectId = ?
    """
  }
  static var deleteSQL: StaticString { "DELETE FROM OfflineProject WHERE projectId = ?" }

  var key: Int64 { projectId }

  init(from row: borrowing Row, at first: Int32) throws(SQLError) {
    projectId = try row.decode(at: first + 0)
    uuid = try row.decode(at: first + 1)
    title = try row.decode(at: first + 2)
    isDeleted = try row.decode(at: first + 3)
  }

  func bindInsert(to statement: Statement) throws(SQLError) {
    try statement.bind(projectId == 0 ? nil : projectId, at: 1)
    try statement.bind(uuid, at: 2)
    try statement.bind(title, at: 3)
    try statement.bind(isDeleted, at: 4)
  }

  func bindUpdate(to statement: Statement) throws(SQLError) {
    try statement.bind(uuid, at: 1)
    try statement.bind(title, at: 2)
    try statement.bind(isDeleted, at: 3)
    try statement.bind(projectId, at: 4)
  }

  mutating func didInsert(rowID: Int64) { projectId = rowID }
}

extension Project {
  static let rooms = ToMany<Project, Room, Int64>(
    targetColumn: "projectId", sourceKey: { $0.projectId }, targetKey: { $0.projectId })
}
