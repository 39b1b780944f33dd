import CipherSQL
import ServerStorage
import SyncModel

extension RecordRow {
  /// Reads a row of `ServerRecord` with all its columns.
  init(_ row: borrowing Row) throws {
    let rootType: String? = try row.decode(at: 8)
    let rootUuid: String? = try row.decode(at: 9)
    let root = rootType.flatMap { type in rootUuid.map { RecordName(type, $0) } }
    let state = RecordState(
      fields: try SyncObject(parsing: row.decode(String.self, at: 15)), isDeleted: try row.decode(at: 6),
      syncVersion: try row.decode(at: 4), updatedAt: try row.decode(at: 13),
      editTimes: try RowText.numbers(row.decode(at: 17)), userEditedFields: try RowText.names(row.decode(at: 16)))
    self.init(
      record: ServerRecord(
        name: RecordName(try row.decode(at: 1), try row.decode(at: 2)), serverId: try row.decode(at: 3),
        sequence: try row.decode(at: 0), createdAt: try row.decode(at: 12), state: state,
        fieldVersions: try RowText.numbers(row.decode(at: 18)), firstVersion: try row.decode(at: 5),
        startVersions: try RowText.startVersions(row.decode(at: 19)), deletedWith: root,
        serviceFields: try RowText.names(row.decode(at: 20))),
      isCascaded: try row.decode(at: 7), project: try row.decode(at: 10), digest: try row.decode(at: 11),
      storedAt: try row.decode(at: 14), keys: try RowText.keys(row.decode(at: 21)))
  }
}

extension ChangedRecord {
  /// The columns that a page of changes reads, in the order of ``init(_:)``.
  static let columns = """
    sequence, entityType, entityUuid, serverId, version, isDeleted, rootType, rootUuid, createdAt, updatedAt, fields,
    userEditedFields, editTimes
    """

  /// Reads a row with ``columns``.
  init(_ row: borrowing Row) throws {
    let rootType: String? = try row.decode(at: 6)
    let rootUuid: String? = try row.decode(at: 7)
    let state = RecordState(
      fields: [:], isDeleted: try row.decode(at: 5), syncVersion: try row.decode(at: 4),
      updatedAt: try row.decode(at: 9),
      editTimes: try RowText.numbers(row.decode(at: 12)), userEditedFields: try RowText.names(row.decode(at: 11)))
    self.init(
      sequence: try row.decode(at: 0), name: RecordName(try row.decode(at: 1), try row.decode(at: 2)),
      serverId: try row.decode(at: 3), createdAt: try row.decode(at: 8), state: state,
      deletedWith: rootType.flatMap { type in rootUuid.map { RecordName(type, $0) } }, fields: try row.decode(at: 10))
  }
}
