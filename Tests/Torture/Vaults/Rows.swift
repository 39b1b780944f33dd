import CipherSQL
import TestSupport

/// The tables of the tortured vaults, and the rows in them: 1, 2, 3 and so on, each with a text that its number
/// determines, and a counter that always says how many there are.
enum Rows {
  static let schemaName = "torture"

  static let firstFile = """
    -- Rows that are counted.
    CREATE TABLE TortureRow (
      number INTEGER PRIMARY KEY,
      content TEXT NOT NULL
    ) STRICT;
    CREATE INDEX tortureRowContent ON TortureRow (content);

    -- How many rows there are; always one row.
    CREATE TABLE TortureCounter (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      value INTEGER NOT NULL
    ) STRICT;
    INSERT INTO TortureCounter (id, value) VALUES (1, 0);
    """

  /// Rebuilds the table.
  static let secondFile = """
    -- Each row knows its length.
    CREATE TABLE NewTortureRow (
      number INTEGER PRIMARY KEY,
      content TEXT NOT NULL,
      size INTEGER GENERATED ALWAYS AS (length(content)) STORED
    ) STRICT;
    INSERT INTO NewTortureRow (number, content) SELECT number, content FROM TortureRow;
    DROP TABLE TortureRow;
    ALTER TABLE NewTortureRow RENAME TO TortureRow;
    CREATE INDEX tortureRowSize ON TortureRow (size);
    """

  static func content(_ number: Int) -> String {
    let word = "\(number * 2_654_435_761 % 4_294_967_296)-"
    return String(repeating: word, count: 1 + number * 7919 % 60)
  }

  /// Adds the next row, in the transaction of the caller.
  @discardableResult
  static func add(to connection: WriteConnection) throws -> Int {
    let number = try count(in: connection) + 1
    try connection.execute("INSERT INTO TortureRow (number, content) VALUES (\(number), \(content(number)))")
    try connection.execute("UPDATE TortureCounter SET value = \(number)")
    return number
  }

  static func count(in connection: Connection) throws -> Int {
    try connection.fetchOne("SELECT value FROM TortureCounter", as: Int.self) ?? 0
  }

  /// Checks every row.
  /// - Returns: how many there are.
  static func check(in connection: Connection) throws -> Int {
    let count = try count(in: connection)
    let rows = try connection.fetchRows(
      "SELECT number, content FROM TortureRow ORDER BY number", as: Int.self, String.self)
    guard rows.count == count else { throw Unexpected("\(rows.count) rows, and the counter says \(count)") }
    for (index, row) in rows.enumerated() where row.0 != index + 1 || row.1 != content(row.0) {
      throw Unexpected("row \(index + 1) is not what was written")
    }
    return count
  }
}
