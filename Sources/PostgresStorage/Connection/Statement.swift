import Platform

/// A statement with parameters `$1`, `$2`, ... A connection prepares it once.
final class Statement: Sendable {
  /// The text.
  let sql: String
  /// The name under which connections prepare it.
  let name: String

  private static let count = Locked(0)

  init(_ sql: String) {
    self.sql = sql
    name = Self.count.withLock { count in
      count += 1
      return "fieldvault_\(count)"
    }
  }

  /// Returns the statement with its values.
  func callAsFunction(_ values: PostgresValue...) -> Command { Command(statement: self, values: values) }

  /// Returns the statement with its values.
  func with(_ values: [PostgresValue]) -> Command { Command(statement: self, values: values) }

  /// A statement with its values.
  struct Command {
    let statement: Statement
    let values: [PostgresValue]
  }
}

/// The statements that begin and end transactions.
enum TransactionStatements {
  static let begin = Statement("BEGIN")
  static let beginReading = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
  static let commit = Statement("COMMIT")
  static let rollback = Statement("ROLLBACK")
  /// For work between two statements that can take longer than the usual limit.
  static let allowIdleness = Statement("SET LOCAL idle_in_transaction_session_timeout = 0")
}
