/// The choices for the import of a database of another program.
public struct DatabaseImportOptions: Sendable {
  /// The only entity whose records are imported; `nil` for all entities with a table in the file.
  public var entityType: String?
  /// The tables of entities whose names do not match, by the type of the entity.
  public var tables: [(entity: String, table: String)] = []
  /// The columns of fields whose names do not match.
  public var mapping: [(entity: String, field: String, column: String)] = []
  /// Values that every record of an entity receives, in place of those of a column.
  public var constants: [(entity: String, field: String, value: String)] = []
  /// A text that means a missing value.
  public var nullText: String?
  /// The meaning of numbers in time columns. Without it, numbers are times in Core Data stores only.
  public var times: NumericTimes?
  /// The name from which the UUIDs of rows without one are derived, together with their table and key. The default is the
  /// identifier of a Core Data store, or the path of the file.
  public var sourceName: String?

  /// Creates options that import every table whose name matches an entity.
  public init() {}
}

/// The tables, columns and rows that an import of a database will take.
public struct DatabaseImportPlan: Sendable {
  /// A table that is imported.
  public struct Table: Sendable {
    /// The entity of the records.
    public let entityType: String
    /// The table, or the entity in a Core Data store.
    public let table: String
    /// The number of rows.
    public let rows: Int
    /// The fields and the columns that fill them, in the order of the fields.
    public let fields: [(field: String, column: String)]
    /// The columns that identify the rows and are no fields.
    public let key: [String]
    /// The columns that fill no field. They are not imported.
    public let ignoredColumns: [String]
  }

  /// The program that wrote the file.
  public let kind: SourceKind
  /// The name from which UUIDs are derived; see ``DatabaseImportOptions/sourceName``.
  public let sourceName: String
  /// The tables in the order of the import, referenced ones first.
  public let tables: [Table]
  /// The tables that match no entity. They are not imported.
  public let ignoredTables: [String]

  /// The number of rows of all tables.
  public var rows: Int { tables.reduce(0) { $0 + $1.rows } }
}

/// The records that an import of a database has added.
public struct DatabaseImportResult: Sendable {
  /// The records of one table.
  public struct Count: Sendable, Hashable {
    /// The entity of the records.
    public let entityType: String
    /// The number of new records.
    public var imported = 0
    /// The number of records that the vault had already with equal values.
    public var present = 0
    /// The number of rows that the other program had marked as deleted. They are left out.
    public var deleted = 0
  }

  /// The counts of each table, in the order of the plan.
  public internal(set) var counts: [Count] = []

  /// The number of new records.
  public var imported: Int { counts.reduce(0) { $0 + $1.imported } }
}

/// A value of a database that cannot be imported.
public struct DatabaseImportProblem: Sendable, Hashable {
  /// The table, or the entity in a Core Data store.
  public let table: String
  /// The row: its key, or its number in the table if the key could be content.
  public let row: String
  /// The column, if known.
  public let column: String?
  /// The field, if known.
  public let field: String?
  /// The description of the problem, with a valid example and without the value.
  public let message: String
}

/// A refused import of a database. No record is in the vault.
public struct DatabaseImportRefused: Error, Sendable {
  /// The problems, at most the first 1,000. They are all of one table; later tables were not read.
  public internal(set) var problems: [DatabaseImportProblem] = []
  /// The number of all problems of the table.
  public internal(set) var problemCount = 0

  mutating func add(_ problem: DatabaseImportProblem) {
    problemCount += 1
    if problems.count < 1000 { problems.append(problem) }
  }
}
