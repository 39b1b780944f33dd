/// A Swift type for the rows of a table or view. The schema compiler writes the conforming types.
public protocol Record: Sendable {
  /// The column tokens of the type, from which queries are composed.
  associatedtype Columns: RecordColumns where Columns.Owner == Self
  /// The table or view.
  static var tableName: StaticString { get }
  /// The `SELECT` of all columns in the order in which `init(from:at:)` reads them.
  static var selectSQL: StaticString { get }
  /// The names of all columns in that order.
  static var columnNames: [StaticString] { get }
  /// Reads a row whose columns begin at a position.
  init(from row: borrowing Row, at first: Int32) throws(SQLError)
}

/// Returns the columns of a record under an alias of its table, so that a query can use a table twice.
public protocol RecordColumns: Sendable {
  /// The record that has the columns.
  associatedtype Owner: Record
  /// The alias of the table in the query.
  var qualifier: String { get }
  /// Creates the columns of the table under a name.
  init(qualifier: String)
}

/// A record that marks deleted rows instead of removing them. Queries exclude marked rows unless they are requested.
public protocol SoftDeletable: Record {
  /// Whether the row is marked as deleted.
  var isDeleted: Bool { get }
}

/// A record of a table, which can be inserted.
public protocol InsertableRecord: Record {
  /// The `INSERT` of all columns, with positional placeholders.
  static var insertSQL: StaticString { get }
  /// Binds all columns for `insertSQL`. A rowid of 0 is bound as NULL, so that the database assigns a rowid.
  func bindInsert(to statement: Statement) throws(SQLError)
  /// Stores the rowid that the database assigned, if the primary key is the rowid.
  mutating func didInsert(rowID: Int64)
}

extension InsertableRecord {
  /// Leaves the record unchanged, for a table whose primary key is not the rowid.
  public mutating func didInsert(rowID: Int64) {}
}

/// A record of a table with a primary key, which can be found, updated and deleted by it.
public protocol KeyedRecord: InsertableRecord {
  /// The type of the primary key.
  associatedtype Key: RecordKey
  /// The primary key.
  var key: Key { get }
  /// The `SELECT` of all columns by key, without rows that are marked as deleted.
  static var findSQL: StaticString { get }
  /// The `UPDATE` of all columns except the key; the key's placeholders come last.
  static var updateSQL: StaticString { get }
  /// The `DELETE` by key.
  static var deleteSQL: StaticString { get }
  /// The columns of the primary key, in the order in which the key binds them. By default they are read from
  /// `deleteSQL`.
  static var keyColumnNames: [StaticString] { get }
  /// Binds all columns for `updateSQL`.
  func bindUpdate(to statement: Statement) throws(SQLError)
}

/// The primary key of a record: one value, or a structure of several that the schema compiler writes.
public protocol RecordKey: Hashable, Sendable {
  /// Binds the values of the key to placeholders from a position on, counted from 1.
  func bind(to statement: Statement, from index: Int32) throws(SQLError)
}

extension RecordKey where Self: SQLValue {
  /// Binds the single value of the key to a placeholder, counted from 1.
  /// - Throws: the errors of the binding.
  @inlinable
  public func bind(to statement: Statement, from index: Int32) throws(SQLError) { try bind(to: statement, at: index) }
}

extension Int64: RecordKey {}
extension Int: RecordKey {}
extension String: RecordKey {}

/// A reference from one record to another.
public struct ToOne<Source: Record, Target: Record, Key: SQLValue & Hashable>: Sendable {
  /// The column of the target that the reference names.
  public let targetColumn: StaticString
  /// Returns the referencing value; `nil` if the reference is NULL.
  public let sourceKey: @Sendable (Source) -> Key?
  /// Returns the referenced value.
  public let targetKey: @Sendable (Target) -> Key

  /// Creates a reference by one column.
  /// - Parameters:
  ///   - targetColumn: the column that identifies the target, such as `uuid`.
  ///   - sourceKey: returns the value of the reference in a source; `nil` without a reference.
  ///   - targetKey: returns the value of `targetColumn` in a target.
  public init(
    targetColumn: StaticString, sourceKey: @escaping @Sendable (Source) -> Key?,
    targetKey: @escaping @Sendable (Target) -> Key
  ) {
    (self.targetColumn, self.sourceKey, self.targetKey) = (targetColumn, sourceKey, targetKey)
  }
}

/// The records that reference one record.
public struct ToMany<Source: Record, Target: Record, Key: SQLValue & Hashable>: Sendable {
  /// The column of the target that references the source.
  public let targetColumn: StaticString
  /// Returns the referenced value of the source.
  public let sourceKey: @Sendable (Source) -> Key
  /// Returns the referencing value of the target.
  public let targetKey: @Sendable (Target) -> Key?

  /// Creates the opposite direction of a reference by one column.
  /// - Parameters:
  ///   - targetColumn: the referencing column of the target.
  ///   - sourceKey: returns the value by which a source is referenced.
  ///   - targetKey: returns the value of `targetColumn` in a target; `nil` without a reference.
  public init(
    targetColumn: StaticString, sourceKey: @escaping @Sendable (Source) -> Key,
    targetKey: @escaping @Sendable (Target) -> Key?
  ) {
    (self.targetColumn, self.sourceKey, self.targetKey) = (targetColumn, sourceKey, targetKey)
  }
}

/// A column of a record, as a token from which queries are composed.
public struct Column<Owner: Record, Value: SQLValue>: Sendable {
  /// The name of the column in the table.
  public let name: StaticString
  /// The alias of its table in the query.
  public let qualifier: String

  /// Creates a column by its name in the table, under a name of that table.
  @inlinable
  public init(_ name: StaticString, of qualifier: String) { (self.name, self.qualifier) = (name, qualifier) }
}
