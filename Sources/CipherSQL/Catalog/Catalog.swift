/// The content of a database, read from SQLite's catalogue and from the text of its tables: tables, columns with the
/// types that the schema's CHECKs give them, keys and references.
///
/// The schema compiler reads it at build time, the command line at run time.
public struct Catalog: Sendable, Hashable {
  /// Tables, views and full-text tables, by name.
  public let tables: [Table]

  /// The table of a name.
  public func table(_ name: String) -> Table? { tables.first { $0.name == name } }

  /// The type of a column's values. SQL has only five types. The others are read from the column's CHECKs, whose
  /// forms the page `Schema/README.md` lists.
  public enum ColumnType: Sendable, Hashable {
    case integer, real, text, blob, any
    /// `CHECK (c IN (0, 1))` on INTEGER.
    case bool
    /// `CHECK (c IN ('a', 'b'))` on TEXT, with the words in the order of the list.
    case enumeration([String])
    /// `CHECK (c IS strftime('%Y-%m-%dT%H:%M:%fZ', c))` on TEXT.
    case timestamp
    /// `CHECK (c IS date(c))` on TEXT.
    case day
    /// `CHECK (c GLOB '????????-????-????-????-????????????' AND ...)` on TEXT.
    case uuid
    /// `CHECK (json_valid(c))` on TEXT.
    case json
  }

  /// A column of a table or view.
  public struct Column: Sendable, Hashable {
    /// Its name as the table's text writes it.
    public let name: String
    /// The type as SQL declares it; empty for an expression of a view.
    public let declaredType: String
    /// The type of its values.
    public let type: ColumnType
    /// True when it is never NULL.
    public let isNotNull: Bool
    /// The text of its DEFAULT.
    public let defaultSQL: String?
    /// Its place in the primary key, from 1; 0 when it is no part of it.
    public let primaryKeyPosition: Int
    /// Whether the column is an INTEGER PRIMARY KEY, whose values the database assigns.
    public let isRowID: Bool
    /// True for a column that the database computes.
    public let isGenerated: Bool
    /// The expressions of its CHECKs, as the table's text has them.
    public let checks: [String]
    /// The comments above and behind it in the table's text.
    public let documentation: String?
  }

  /// A reference to another table.
  public struct ForeignKey: Sendable, Hashable {
    /// The action when the referenced row is deleted.
    public enum Action: String, Sendable {
      case noAction = "NO ACTION"
      case restrict = "RESTRICT"
      case setNull = "SET NULL"
      case setDefault = "SET DEFAULT"
      case cascade = "CASCADE"
    }

    /// A pair of columns.
    public struct Pair: Sendable, Hashable {
      /// The column that refers.
      public let from: String
      /// The referenced column. If the text names no column: the column of the primary key, or `rowid`.
      public let to: String
    }

    /// The table that is referred to.
    public let table: String
    /// The referencing columns, each with the referenced one: one pair, or several for a composite key.
    public let columns: [Pair]
    /// The action for the referencing rows when the referenced row is deleted.
    public let onDelete: Action
    /// The action for the referencing rows when the referenced columns change.
    public let onUpdate: Action
  }

  /// A UNIQUE constraint or unique index, with conditions and expressions; a rowid's own uniqueness excepted.
  public struct UniqueIndex: Sendable, Hashable {
    /// A column or expression of it.
    public struct Term: Sendable, Hashable {
      /// SQL over the columns of the table.
      public let expression: String
      /// The collation by which its values are compared.
      public let collation: String
    }

    /// The columns that are unique together.
    public let terms: [Term]
    /// The rows that it is about, as SQL; nil for all of them.
    public let condition: String?
    /// The columns that terms and condition name, in the order of the table.
    public let columns: [String]
  }

  /// A table, a view or a full-text table.
  public struct Table: Sendable, Hashable {
    /// How its rows come about; `virtual` for a table of a module, such as FTS5.
    public enum Kind: Sendable, Hashable {
      case table, view, virtual
    }

    /// Its name as the schema writes it.
    public let name: String
    /// Whether it is a table, a view or a virtual table.
    public let kind: Kind
    /// True for a STRICT table, which refuses values of another type than the declared one.
    public let isStrict: Bool
    /// True for a table WITHOUT ROWID.
    public let isWithoutRowID: Bool
    /// Its columns in their order, without the hidden ones of a virtual table.
    public let columns: [Column]
    /// Its references to other tables, in the order of its text; empty for a view or virtual table.
    public let foreignKeys: [ForeignKey]
    /// The columns of each UNIQUE constraint and unique index without a condition, the primary key excepted.
    public let uniqueKeys: [[String]]
    /// Each UNIQUE constraint and unique index, including partial ones.
    public let uniqueIndexes: [UniqueIndex]
    /// The table whose content an FTS5 table indexes.
    public let contentTable: String?
    /// For an FTS5 table: the column of that table that is its rowid.
    public let contentRowID: String?
    /// The text of the CREATE statement.
    public let sql: String

    /// The columns of the primary key, in its order.
    public var primaryKey: [Column] {
      columns.filter { $0.primaryKeyPosition > 0 }.sorted { $0.primaryKeyPosition < $1.primaryKeyPosition }
    }

    /// The column of a name.
    public func column(_ name: String) -> Column? { columns.first { $0.name == name } }
  }
}
