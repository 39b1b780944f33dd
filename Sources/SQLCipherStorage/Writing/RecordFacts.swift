import CipherSQL
import SchemaModel
import SyncModel

/// The facts about the fields of records: versions, edit times, roles of writers and released values.
enum RecordFacts {
  /// The columns of `ServerRecord` that have the names of fields.
  private static let columns = ["fieldVersions", "editTimes", "serviceFields", "released"]
  /// The records that one query reads.
  private static let readAtOnce = 1_000

  /// Renames fields. Without their facts, they would count as never changed, and a concurrent edit would replace them
  /// without a merge.
  ///
  /// Reads all records of the entities.
  static func follow(_ renames: RenamedColumns, on connection: WriteConnection) throws {
    let known = try Set(connection.fetch("SELECT name FROM pragma_table_info('ServerRecord')", as: String.self))
    for column in columns where known.contains(column) {
      for (type, names) in renames.names.sorted(by: { $0.key < $1.key }) {
        try rename(names, in: column, of: type, on: connection)
      }
    }
  }

  private static func rename(
    _ names: [ColumnRename], in column: String, of type: String, on connection: WriteConnection
  ) throws {
    var last: Int64?
    repeat {
      let rows = try connection.fetchRows(
        """
        SELECT sequence, \(identifier: column) FROM ServerRecord
        WHERE entityType = \(type) AND sequence > \(last ?? 0) AND \(identifier: column) IS NOT NULL
        ORDER BY sequence LIMIT \(readAtOnce)
        """, as: Int64.self, String.self)
      for (sequence, json) in rows {
        let old = try SyncValue(parsing: json)
        let new = old.renaming(names)
        guard new != old else { continue }
        try connection.execute(
          "UPDATE ServerRecord SET \(identifier: column) = \(new.json) WHERE sequence = \(sequence)")
      }
      last = rows.count < readAtOnce ? nil : rows.last?.0
    } while last != nil
  }
}
