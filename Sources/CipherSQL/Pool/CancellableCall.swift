import CSQLCipher
import Synchronization

/// A call that runs on a connection and that another thread may cancel.
///
/// SQLite calls a handler between the steps of a statement, on the thread of the call. `sqlite3_interrupt` would
/// reach the connection from another thread and last until no statement runs: it would also end the ROLLBACK, and the
/// next call while a statement is open.
final class CancellableCall: Sendable {
  private let mark: Cancellation

  /// - Parameter visits: counts the rows that the call visits; `nil` to count none.
  init(_ visits: VisitCount? = nil) { mark = Cancellation(visits) }

  var isCancelled: Bool { mark.isCancelled.load(ordering: .acquiring) }

  func cancel() { mark.isCancelled.store(true, ordering: .releasing) }

  /// Runs the call on a connection.
  /// - Throws: `CancellationError` if the call is cancelled before it begins; the errors of `body`.
  func run<Result>(on connection: Connection, _ body: () throws -> Result) throws -> Result {
    if isCancelled { throw CancellationError() }
    connection.cancellation = mark
    mark.visits?.begin(on: connection.handle)
    // Some ten microseconds of work; a question costs some nanoseconds.
    let stepsBetweenQuestions: Int32 = 1000
    // Unretained, because the handler is removed before this function returns.
    sqlite3_progress_handler(
      connection.handle, stepsBetweenQuestions,
      { context in
        guard let context else { return 0 }
        let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
        connection.cancellation?.visits?.note(on: connection.handle)
        return connection.isCancelled ? 1 : 0
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

/// The number of rows that the scans of whole tables have visited during a call.
///
/// SQLite counts the steps of such scans for each statement. A search in an index, or in a range of keys, is not counted.
final class VisitCount: Sendable {
  private let report: @Sendable (Int) -> Void
  private let rows = Atomic(0)

  /// - Parameter report: called on the thread of the call with the number since its beginning.
  init(_ report: @escaping @Sendable (Int) -> Void) { self.report = report }

  /// Forgets the steps of earlier calls on a connection.
  func begin(on handle: OpaquePointer) { _ = Self.takeSteps(of: handle) }

  /// Counts the visited rows and reports their number. The connection calls this function between the steps of a statement.
  func note(on handle: OpaquePointer) {
    report(rows.add(Self.takeSteps(of: handle), ordering: .relaxed).newValue)
  }

  /// Returns the steps of all statements of a connection, and sets their counters to 0.
  private static func takeSteps(of handle: OpaquePointer) -> Int {
    var steps = 0
    var statement = sqlite3_next_stmt(handle, nil)
    while let found = statement {
      steps += Int(sqlite3_stmt_status(found, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1))
      statement = sqlite3_next_stmt(handle, found)
    }
    return steps
  }
}
