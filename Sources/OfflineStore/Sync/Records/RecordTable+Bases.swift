import CipherSQL
import SyncModel

/// What a base says of columns that come and go with migrations.
extension RecordTable {
  /// The base of a record after the server's version has been merged: the server's values, and those of the old base in columns
  /// that the server says nothing about. Fields without a column stay in `SyncExtraFields`, so that a migration that makes
  /// columns for them can merge them with what was edited here.
  func base(from remote: RecordState, over old: RecordState?) -> RecordState {
    var base = remote
    base.fields = (old?.fields ?? [:]).overlaid(with: remote.fields).filter { places[$0.name] != nil }
    return base
  }

  /// The values that columns have in a row that was made without them. A default that is not constant has another value each
  /// time.
  func defaults(of names: [String], in connection: Connection) throws -> SyncObject {
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
