import CSQLCipher

/// Which rule of the schema refused a change.
public enum ConstraintViolation: Hashable, Sendable {
  /// A CHECK; the text is its name or its expression as the schema writes it.
  case check(String)
  /// A unique value exists already in the columns, given as `table.column`.
  case unique([String])
  /// A value is missing; the column as `table.column`.
  case notNull(String)
  /// A referenced row is missing, or a row that is still referenced was to be deleted.
  case foreignKey
  /// A value of another type than the column of a STRICT table allows; the column as `table.column`.
  case type(String)
  /// Another rule, such as one that a trigger raises; with its message.
  case other(String)
}

extension SQLError {
  /// The rule that refused, when `code` is `.constraint`.
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

// SQLite defines these as macros of shifted values, which Swift does not import.
private let constraintcheck = SQLITE_CONSTRAINT | (1 << 8)
private let constraintforeignkey = SQLITE_CONSTRAINT | (3 << 8)
private let constraintnotnull = SQLITE_CONSTRAINT | (5 << 8)
private let constraintprimarykey = SQLITE_CONSTRAINT | (6 << 8)
private let constraintunique = SQLITE_CONSTRAINT | (8 << 8)
private let constraintrowid = SQLITE_CONSTRAINT | (10 << 8)
private let constraintdatatype = SQLITE_CONSTRAINT | (12 << 8)
