import CSQLCipher

/// A call that runs on a connection and that another thread may cancel.
///
/// SQLite calls a handler between the steps of a statement, on the thread of the call. `sqlite3_interrupt` would
/// reach the connection from another thread and last until no statement runs: it would also end the ROLLBACK, and the
/// next call while a statement is open.
final class CancellableCall: Sendable {
  private let mark = Cancellation()

  var isCancelled: Bool { mark.isCancelled.load(ordering: .acquiring) }

  func cancel() { mark.isCancelled.store(true, ordering: .releasing) }

  /// Runs the call on a connection.
  /// - Throws: `CancellationError` if the call is cancelled before it begins; the errors of `body`.
  func run<Result>(on connection: Connection, _ body: () throws -> Result) throws -> Result {
    if isCancelled { throw CancellationError() }
    connection.cancellation = mark
    // Some ten microseconds of work; a question costs some nanoseconds.
    let stepsBetweenQuestions: Int32 = 1000
    // Unretained, because the handler is removed before this function returns.
    sqlite3_progress_handler(
      connection.handle, stepsBetweenQuestions,
      { context in
        guard let context else { return 0 }
        return Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().isCancelled ? 1 : 0
      }, Unmanaged.passUnretained(connection).toOpaque())
    defer {
      sqlite3_progress_handler(connection.handle, 0, nil, nil)
      connection.cancellation = nil
    }
    return try body()
  }
}

extension Connection {
  /// Whether the running call is cancelled.
  final var isCancelled: Bool { cancellation?.isCancelled.load(ordering: .relaxed) == true }

  /// Runs a closure that a cancellation must not interrupt.
  final func uncancelled<Result>(_ body: () throws -> Result) rethrows -> Result {
    let mark = cancellation
    cancellation = nil
    defer { cancellation = mark }
    return try body()
  }
}
