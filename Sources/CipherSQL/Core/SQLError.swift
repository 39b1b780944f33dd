import CSQLCipher

/// An error below the typed layer: of SQLite, of SQLCipher, or of a call to them.
///
/// Programs use `code`, users read `message` and `hint`. These never contain a bound value, a key or a passphrase.
public struct SQLError: Error, Sendable, CustomStringConvertible {
  /// A kind of failure. New kinds may be added; compare with `==` and have a default branch.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the kind, such as `busy`.
    public let rawValue: String
    /// Creates the kind with a name. Any name is accepted.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Another connection or process holds the lock; the call may be repeated.
    public static let busy = Code(rawValue: "busy")
    /// The file is not a database under this key: a wrong key, a damaged first page or another kind of file.
    public static let notADatabase = Code(rawValue: "notADatabase")
    /// A page fails its integrity check.
    public static let damaged = Code(rawValue: "damaged")
    /// The device or the quota is full.
    public static let diskFull = Code(rawValue: "diskFull")
    /// The operating system failed a read, write or sync.
    public static let inputOutput = Code(rawValue: "inputOutput")
    /// The file cannot be opened.
    public static let cannotOpen = Code(rawValue: "cannotOpen")
    /// A write where only reads are allowed.
    public static let readOnly = Code(rawValue: "readOnly")
    /// A constraint of the schema refused the change; see ``SQLError/constraint``.
    public static let constraint = Code(rawValue: "constraint")
    /// A forbidden action, such as ATTACH or a PRAGMA that changes a setting.
    public static let notAllowed = Code(rawValue: "notAllowed")
    /// A read or write of a database inside a read or write of the same database.
    public static let nestedAccess = Code(rawValue: "nestedAccess")
    /// The SQL is not valid for this schema.
    public static let invalidSQL = Code(rawValue: "invalidSQL")
    /// A value does not have the requested Swift type.
    public static let typeMismatch = Code(rawValue: "typeMismatch")
    /// The call was interrupted or its task was cancelled.
    public static let interrupted = Code(rawValue: "interrupted")
    /// A requested row does not exist.
    public static let notFound = Code(rawValue: "notFound")
    /// The linked library is not SQLCipher, or is too old.
    public static let unsuitableLibrary = Code(rawValue: "unsuitableLibrary")
    /// An invalid use of the interface.
    public static let misuse = Code(rawValue: "misuse")
    /// A text or blob above SQLite's limit.
    public static let tooBig = Code(rawValue: "tooBig")
    /// A migration was refused; see the message.
    public static let migration = Code(rawValue: "migration")
    /// Another error; see ``SQLError/sqliteCode``.
    public static let other = Code(rawValue: "other")
  }

  private final class Storage: Sendable {
    let code: Code
    let message: String
    let hint: String?
    let sqliteCode: Int32
    let sql: String?
    let offset: Int?
    init(code: Code, message: String, hint: String?, sqliteCode: Int32, sql: String?, offset: Int?) {
      (self.code, self.message, self.hint) = (code, message, hint)
      (self.sqliteCode, self.sql, self.offset) = (sqliteCode, sql, offset)
    }
  }

  // One reference, so that a function that may throw stays as cheap as one that returns a pointer.
  private let storage: Storage

  /// Creates an error of the typed layer or of a module above it.
  public init(
    _ code: Code, _ message: String, hint: String? = nil, sqliteCode: Int32 = 0, sql: String? = nil,
    offset: Int? = nil
  ) {
    storage = Storage(code: code, message: message, hint: hint, sqliteCode: sqliteCode, sql: sql, offset: offset)
  }

  /// The kind of failure.
  public var code: Code { storage.code }
  /// The failure, without any bound value.
  public var message: String { storage.message }
  /// The remedy, if it is known.
  public var hint: String? { storage.hint }
  /// SQLite's extended result code; 0 for an error that SQLite did not cause.
  public var sqliteCode: Int32 { storage.sqliteCode }
  /// Whether the content of the file could not be read. In this case only that file is affected, and not the whole
  /// disk.
  public var isOfReading: Bool {
    // READ, SHORT_READ, DATA and CORRUPTFS, which C has as sums that Swift does not see.
    code == .inputOutput && [1, 2, 32, 33].contains(sqliteCode >> 8)
  }
  /// The statement with its placeholders, if the error concerns a statement.
  public var sql: String? { storage.sql }
  /// The byte offset in `sql` of the mistake, if SQLite reports it.
  public var offset: Int? { storage.offset }

  /// The message, followed by the hint in parentheses.
  public var description: String {
    var text = message
    if let hint { text += " (\(hint))" }
    return text
  }
}

extension SQLError {
  /// The name of the column that a statement uses and no table has; `nil` for another error.
  public var unknownColumn: String? { unknown("column") }

  /// The name of the table that a statement uses and that does not exist; `nil` for another error.
  public var unknownTable: String? { unknown("table") }

  private func unknown(_ kind: String) -> String? {
    let start = "no such \(kind): "
    guard code == .invalidSQL, message.hasPrefix(start) else { return nil }
    // SQLite adds advice to a name in double quotes.
    let name = message.dropFirst(start.count).split(separator: " - ").first ?? ""
    let last = name.split(separator: ".").last.map { $0.filter { $0 != "\"" } } ?? ""
    return last.isEmpty ? nil : last
  }

  /// Returns the last failure of a connection as an error.
  @usableFromInline
  @inline(never)
  static func last(_ database: OpaquePointer?, result: Int32, sql: String? = nil) -> SQLError {
    let extended = database.map { sqlite3_extended_errcode($0) } ?? result
    let effective = extended & 0xff == result & 0xff ? extended : result
    let text =
      database.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? String(cString: sqlite3_errstr(result))
    let offset = database.map { Int(sqlite3_error_offset($0)) } ?? -1
    let (code, hint) = classify(effective, text)
    return SQLError(
      code, text, hint: hint, sqliteCode: effective, sql: sql, offset: offset >= 0 ? offset : nil)
  }

  private static func classify(_ result: Int32, _ text: String) -> (Code, String?) {
    switch result & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED:
      return (.busy, "another process or connection is writing; try again")
    case SQLITE_NOTADB:
      return (.notADatabase, "the key is wrong, or this is not an encrypted database")
    case SQLITE_CORRUPT:
      return (.damaged, "restore a backup")
    case SQLITE_FULL:
      return (.diskFull, "free some space; nothing was changed")
    case SQLITE_IOERR:
      return (.inputOutput, "check the disk and the permissions of the folder")
    case SQLITE_CANTOPEN:
      return (.cannotOpen, "check that the folder exists and is writable")
    case SQLITE_AUTH:
      return (.notAllowed, nil)
    case SQLITE_READONLY, SQLITE_PERM:
      return (.readOnly, nil)
    case SQLITE_CONSTRAINT, SQLITE_MISMATCH:
      return (.constraint, nil)
    case SQLITE_INTERRUPT, SQLITE_ABORT:
      return (.interrupted, nil)
    case SQLITE_TOOBIG:
      return (.tooBig, nil)
    case SQLITE_MISUSE, SQLITE_RANGE:
      return (.misuse, nil)
    case SQLITE_ERROR:
      // Ubuntu 24.04 ships such a library.
      let lacksSearch = text.contains("no such module: fts5")
      return (
        .invalidSQL, lacksSearch ? "the linked SQLCipher has no full-text search; scripts/setup installs one" : nil
      )
    default:
      return (.other, nil)
    }
  }
}

/// The rule of the schema that refused a change.
public enum ConstraintViolation: Hashable, Sendable {
  /// A CHECK; the text is its name, or its unchanged expression.
  case check(String)
  /// A unique value already exists in the columns, each as `table.column`.
  case unique([String])
  /// A value is missing; the column as `table.column`.
  case notNull(String)
  /// A referenced row is missing, or the deleted row is still referenced.
  case foreignKey
  /// A value of another type than the column of a STRICT table allows; the column as `table.column`.
  case type(String)
  /// Another rule, such as the RAISE of a trigger, with its message.
  case other(String)
}

extension SQLError {
  /// The rule that refused the change, if `code` is `.constraint`.
  public var constraint: ConstraintViolation? {
    guard code == .constraint else { return nil }
    let detail = message.firstRange(of: "constraint failed: ").map { String(message[$0.upperBound...]) } ?? message
    switch sqliteCode {
    case constraintcheck: return .check(detail)
    case constraintunique, constraintprimarykey, constraintrowid:
      return .unique(detail.split(separator: ",").map { String($0.drop { $0 == " " }) })
    case constraintnotnull: return .notNull(detail)
    case constraintforeignkey: return .foreignKey
    case constraintdatatype:
      // "cannot store TEXT value in REAL column OfflineRoom.squareFootage"
      return .type(message.split(separator: " ").last.map(String.init) ?? message)
    default: return .other(detail)
    }
  }
}

extension SQLError {
  /// The error of a commit that leaves a deferred foreign key violated.
  package static var violatedForeignKey: SQLError {
    SQLError(.constraint, "FOREIGN KEY constraint failed", sqliteCode: constraintforeignkey)
  }
}

// SQLite defines these as macros of shifted values, which Swift does not import.
private let constraintcheck = SQLITE_CONSTRAINT | (1 << 8)
private let constraintforeignkey = SQLITE_CONSTRAINT | (3 << 8)
private let constraintnotnull = SQLITE_CONSTRAINT | (5 << 8)
private let constraintprimarykey = SQLITE_CONSTRAINT | (6 << 8)
private let constraintunique = SQLITE_CONSTRAINT | (8 << 8)
private let constraintrowid = SQLITE_CONSTRAINT | (10 << 8)
private let constraintdatatype = SQLITE_CONSTRAINT | (12 << 8)
