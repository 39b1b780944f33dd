/// The statements that begin and end transactions.
enum TransactionStatements {
  static let begin = Statement("BEGIN")
  static let beginReading = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
  static let commit = Statement("COMMIT")
  static let rollback = Statement("ROLLBACK")
  /// For work between two statements that can take longer than the usual limit.
  static let allowIdleness = Statement("SET LOCAL idle_in_transaction_session_timeout = 0")
}
