import CipherSQL
import SyncModel

/// Bases and columns that migrations add.
extension RecordTable {
  /// Returns the base of a record after a merge with the server's version: the server's values, and the values of the
  /// old base in columns that the server does not send. Fields without a column stay in `SyncExtraFields`, so that a
  /// migration that adds their columns can merge them with local edits.
  package func base(from remote: RecordState, over old: RecordState?) -> RecordState {
    var base = remote
    base.fields = (old?.fields ?? [:]).overlaid(with: remote.fields).filter { places[$0.name] != nil }
    return base
  }

  /// Returns the values that columns have in a row that was inserted without them. A default that is not constant has
  /// another value each time.
  package func defaults(of names: [String], in connection: Connection) throws -> SyncObject {
    var values: SyncObject = [:]
    for name in names {
      guard let place = places[name], !columns[place].column.isGenerated else { continue }
      let column = columns[place]
      guard let text = column.column.defaultSQL else {
        values[name] = .null
        continue
      }
      guard column.reference == nil else { continue }
      let argument = try connection.fetchOne(SQL(raw: "SELECT (\(text)\n)"), as: SQLArgument.self)
      values[name] = try column.value(of: argument ?? .null)
    }
    return values
  }
}
