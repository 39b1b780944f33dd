/// A failure of the database.
struct PostgresError: Error, CustomStringConvertible {
  /// The five characters by which PostgreSQL classifies a failure; `nil` if the connection failed.
  let sqlState: String?
  /// The failure, without values.
  let message: String

  var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }

  /// Whether the connection is lost, or the server ends or begins. Whether the last commit took effect is unknown then.
  var isLostConnection: Bool {
    guard let sqlState else { return true }
    // 57P01 to 57P05: the server stops, has crashed, starts, or the database was dropped. 25006: the server has become
    // a standby.
    return ["08", "57P", "25006"].contains { sqlState.hasPrefix($0) }
  }

  /// Whether the transaction may succeed when it is repeated: serialization failure, deadlock, too many connections.
  var isRepeatable: Bool { isLostConnection || ["40001", "40P01", "53300"].contains(sqlState) }

  /// Whether a lock or a statement took too long.
  var isTimeout: Bool { ["55P03", "57014"].contains(sqlState) }

  /// Whether the disk or the memory of the database is full.
  var isOutOfSpace: Bool { sqlState?.hasPrefix("53") == true }
}
