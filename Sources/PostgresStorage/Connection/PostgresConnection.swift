import CPostgres
import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A connection to the database, always in pipeline mode: several statements take one round trip.
///
/// `@unchecked Sendable` holds because ``ConnectionPool`` gives a connection to one transaction at a time, which uses it on
/// one thread, and the listener keeps its connection to itself. The pool's lock orders one use after the other.
final class PostgresConnection: @unchecked Sendable {
  private let handle: OpaquePointer
  private let settings: PostgresSettings
  private let clock: Clock
  private var prepared: Set<String> = []
  /// Whether the connection can be used again.
  private(set) var isUsable = true
  /// The life of the database that the connection sees, and its number.
  var (incarnation, incarnationNumber): (Incarnation?, Int64) = (nil, 0)

  /// Connects.
  /// - Parameter url: `nil` for the URL of the settings.
  /// - Throws: ``PostgresError``.
  init(_ settings: PostgresSettings, clock: Clock, url: String? = nil) throws {
    (self.settings, self.clock) = (settings, clock)
    let words = settings.parameters(url: url ?? settings.url)
    let opened = Self.withCStrings(words.map(\.name)) { names in
      Self.withCStrings(words.map(\.value)) { values in PQconnectdbParams(names, values, 1) }
    }
    guard let opened else { throw PostgresError(sqlState: nil, message: "out of memory for a connection") }
    handle = opened
    cpostgres_silence(handle)
    guard PQstatus(handle) == CONNECTION_OK else { throw failure() }
    guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { throw failure() }
    _ = try run(settings.sessionStatements.map { $0() })
  }

  deinit { PQfinish(handle) }

  /// The version of the server: 150000 for 15.
  var serverVersion: Int { Int(PQserverVersion(handle)) }

  /// Runs a statement.
  /// - Throws: ``PostgresError``.
  func run(_ command: Statement.Command) throws -> PostgresResult {
    let results = try run([command])
    guard let result = results.last else { throw PostgresError(sqlState: nil, message: "no result") }
    return result
  }

  /// Runs statements in order. After one that fails, none of the others runs.
  /// - Returns: the result of each.
  /// - Throws: ``PostgresError`` of the first that fails.
  func run(_ commands: [Statement.Command]) throws -> [PostgresResult] {
    guard isUsable else { throw PostgresError(sqlState: nil, message: "the connection is lost") }
    do {
      let deadline = clock.instant() + settings.responseLimit
      var preparing: [String?] = []
      for command in commands {
        if !settings.isPooled, !prepared.contains(command.statement.name), !preparing.contains(command.statement.name) {
          try check(PQsendPrepare(handle, command.statement.name, command.statement.sql, 0, nil))
          preparing.append(command.statement.name)
        }
        try send(command)
        preparing.append(nil)
      }
      try check(PQpipelineSync(handle))
      return try receive(preparing, until: deadline)
    } catch let error as PostgresError {
      if error.isLostConnection || PQstatus(handle) != CONNECTION_OK { isUsable = false }
      throw error
    }
  }

  private func send(_ command: Statement.Command) throws {
    var buffer: [UInt8] = []
    let places = command.values.map { value -> Range<Int>? in
      let start = buffer.count
      return value.append(to: &buffer) ? start..<buffer.count : nil
    }
    // A pointer to no bytes must not be NULL, which would be an SQL NULL.
    buffer.append(0)
    let lengths = places.map { Int32($0?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: places.count)
    let result = buffer.withUnsafeBytes { bytes in
      let pointers = places.map { place in
        place.flatMap { bytes.baseAddress?.advanced(by: $0.lowerBound).assumingMemoryBound(to: CChar.self) }
      }
      let count = Int32(places.count)
      return settings.isPooled
        ? PQsendQueryParams(handle, command.statement.sql, count, nil, pointers, lengths, formats, 1)
        : PQsendQueryPrepared(handle, command.statement.name, count, pointers, lengths, formats, 1)
    }
    try check(result)
  }

  /// Reads the results of all that was sent.
  private func receive(_ preparing: [String?], until deadline: ContinuousClock.Instant) throws -> [PostgresResult] {
    var results: [PostgresResult] = []
    var firstFailure: PostgresError?
    for name in preparing {
      guard let result = try nextResult(until: deadline) else { throw failure() }
      let status = PQresultStatus(result)
      if status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK {
        if let name {
          prepared.insert(name)
          PQclear(result)
        } else {
          results.append(PostgresResult(result))
        }
      } else {
        firstFailure = firstFailure ?? Self.failure(result)
        PQclear(result)
      }
      // The end of the statement's results.
      while let more = try nextResult(until: deadline) { PQclear(more) }
    }
    guard let end = try nextResult(until: deadline) else { throw failure() }
    PQclear(end)
    if let firstFailure { throw firstFailure }
    return results
  }

  private func nextResult(until deadline: ContinuousClock.Instant) throws -> OpaquePointer? {
    while true {
      let isToWrite = PQflush(handle)
      guard isToWrite >= 0 else { throw failure() }
      if isToWrite == 0, PQisBusy(handle) == 0 { return PQgetResult(handle) }
      guard wait(writing: isToWrite == 1, until: deadline) else {
        isUsable = false
        throw PostgresError(sqlState: nil, message: "the database does not respond")
      }
      guard PQconsumeInput(handle) == 1 else { throw failure() }
    }
  }

  /// Waits until the socket is ready. Returns `false` after a timeout.
  private func wait(writing: Bool, until deadline: ContinuousClock.Instant) -> Bool {
    while true {
      let left = deadline - clock.instant()
      guard left > .zero else { return false }
      var descriptor = pollfd(
        fd: PQsocket(handle), events: Int16(POLLIN) | (writing ? Int16(POLLOUT) : 0), revents: 0)
      let milliseconds = Int32(clamping: Int64(left / .milliseconds(1)) + 1)
      if poll(&descriptor, 1, milliseconds) > 0 { return true }
    }
  }

  /// Begins a transaction, in one round trip with its first statements.
  /// - Returns: the results of the statements.
  /// - Throws: ``PostgresError``, also if a pooler has changed to a database of another ``Incarnation``.
  func begin(_ begin: Statement, _ commands: [Statement.Command]) throws -> [PostgresResult] {
    guard settings.isPooled else { return Array(try run([begin()] + commands).dropFirst()) }
    let opening = [begin()] + settings.transactionStatements.map { $0() } + [Incarnation.current()]
    let results = try run(opening + commands)
    guard results[opening.count - 1].first({ Incarnation($0) }) == incarnation else {
      isUsable = false
      throw PostgresError(sqlState: nil, message: "the pooler has changed to another database")
    }
    return Array(results.dropFirst(opening.count))
  }

  /// Refuses a connection from before the incarnation in which an account was last used: an operator may have started one.
  /// - Throws: ``PostgresError``, so that the transaction is repeated on a new connection.
  func checkIncarnation(of account: AccountRow) throws {
    guard account.incarnation > incarnationNumber else { return }
    isUsable = false
    throw PostgresError(sqlState: nil, message: "the database has begun a new incarnation")
  }

  /// Whether no transaction is open.
  var isIdle: Bool { isUsable && PQtransactionStatus(handle) == PQTRANS_IDLE }

  // MARK: Notifications

  /// Waits for notifications.
  /// - Returns: their texts; empty after a timeout.
  /// - Throws: ``PostgresError`` if the connection is lost.
  func notifications(waitingAtMost limit: Duration) throws -> [String] {
    if let known = takeNotifications() { return known }
    guard wait(writing: false, until: clock.instant() + limit) else { return [] }
    guard PQconsumeInput(handle) == 1 else {
      isUsable = false
      throw failure()
    }
    return takeNotifications() ?? []
  }

  private func takeNotifications() -> [String]? {
    var texts: [String] = []
    while let notification = PQnotifies(handle) {
      texts.append(String(cString: notification.pointee.extra))
      PQfreemem(notification)
    }
    return texts.isEmpty ? nil : texts
  }

  // MARK: Failures

  private func check(_ result: Int32) throws { guard result == 1 else { throw failure() } }

  private func failure() -> PostgresError {
    PostgresError(sqlState: nil, message: Self.firstLine(PQerrorMessage(handle)))
  }

  private static func failure(_ result: OpaquePointer) -> PostgresError {
    let state = PQresultErrorField(result, cpostgres_sqlstate).map { String(cString: $0) }
    return PostgresError(sqlState: state, message: firstLine(PQresultErrorField(result, cpostgres_message)))
  }

  /// The following lines of a message can contain values.
  private static func firstLine(_ text: UnsafePointer<CChar>?) -> String {
    let whole = text.map { String(cString: $0) } ?? ""
    return whole.split(separator: "\n").first.map(String.init) ?? "the connection is lost"
  }

  private static func withCStrings<Result>(
    _ texts: [String], _ body: ([UnsafePointer<CChar>?]) throws -> Result
  ) rethrows -> Result {
    let copies = texts.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return try body(copies.map { $0.map { UnsafePointer($0) } } + [nil])
  }
}
