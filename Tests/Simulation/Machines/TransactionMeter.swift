import CSQLCipher
import CipherSQL
import Platform
import TestSupport

/// Statement 10 for records: counts the records that each transaction of a simulated device or server changes.
///
/// SQLite calls the functions that count without an owner, so the counts belong to the process. A simulation has one thread.
enum TransactionMeter {
  /// The most records that a transaction of sync changes: 500 of a page, and 500 of the inbox that waited for them.
  static let limit = 1_000

  private struct Record: Hashable {
    let table: String
    let row: Int64
  }

  private struct State {
    /// The tables of the world's records.
    var tables: Set<String> = []
    /// The changed records of open transactions, by the address of the connection.
    var changed: [Int: Set<Record>] = [:]
    /// The number of actions of users or operators that are under way.
    var userActions = 0
    /// The number of schema upgrades of accounts that are under way.
    var upgrades = 0
    /// The first transaction that changed too many records.
    var excess: (database: String, records: Int)?
  }

  private static let state = Locked(State())

  /// Meters all connections that are opened from now on.
  static func use() throws {
    // SQLite is configured before its first connection, and that is too late for an extension that starts it.
    try Database.inMemory().close()
    typealias Entry =
      @convention(c) (
        OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, UnsafeRawPointer?
      ) -> Int32
    let entry: Entry = { connection, _, _ in
      TransactionMeter.meter(connection)
      return SQLITE_OK
    }
    sqlite3_auto_extension(unsafeBitCast(entry, to: (@convention(c) () -> Void).self))
  }

  /// The table that has all records of an account at the server.
  private static let serverTable = "ServerRecord"

  /// Counts the records of a world, which are in these tables on devices.
  static func begin(_ tables: Set<String>) {
    state.withLock { state in
      state.tables = tables.union([serverTable])
      state.excess = nil
    }
  }

  /// Performs an action of a user or of an operator. A deletion of theirs may take any number of dependents along. They
  /// insert few records themselves, so insertions are versions of the inbox that a decision applies.
  static func asUser<Result>(_ body: () throws -> Result) rethrows -> Result {
    state.withLock { $0.userActions += 1 }
    defer { state.withLock { $0.userActions -= 1 } }
    return try body()
  }

  /// Opens accounts that new schema files may change. The files change all records of an account in one transaction: no
  /// request has a response before its commit, and a crash undoes all of it.
  static func asUpgrade<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
  ) async rethrows -> Result {
    state.withLock { $0.upgrades += 1 }
    defer { state.withLock { $0.upgrades -= 1 } }
    return try await body()
  }

  /// - Throws: ``Violation`` if a transaction was too long since the last check.
  static func check() throws {
    let excess = state.withLock { state in
      defer { state.excess = nil }
      return state.excess
    }
    guard let excess else { return }
    throw Violation(10, "a transaction of sync changes \(excess.records) records in \(excess.database)")
  }

  private static func meter(_ connection: OpaquePointer?) {
    let pointer = UnsafeMutableRawPointer(connection)
    let address = Int(bitPattern: pointer)
    state.withLock { $0.changed[address] = [] }
    sqlite3_update_hook(connection, { TransactionMeter.note($0, $1, $3, $4) }, pointer)
    sqlite3_commit_hook(
      connection,
      { pointer in
        TransactionMeter.end(pointer, isCommit: true)
        return 0
      }, pointer)
    sqlite3_rollback_hook(connection, { TransactionMeter.end($0, isCommit: false) }, pointer)
  }

  private static func note(
    _ pointer: UnsafeMutableRawPointer?, _ operation: Int32, _ table: UnsafePointer<CChar>?, _ row: Int64
  ) {
    guard let table else { return }
    let name = String(cString: table)
    state.withLock { state in
      guard state.tables.contains(name), operation == SQLITE_INSERT || state.userActions == 0,
        state.upgrades == 0 || name != serverTable
      else { return }
      state.changed[Int(bitPattern: pointer), default: []].insert(Record(table: name, row: row))
    }
  }

  private static func end(_ pointer: UnsafeMutableRawPointer?, isCommit: Bool) {
    guard let pointer else { return }
    let path = sqlite3_db_filename(OpaquePointer(pointer), "main").map { String(cString: $0) } ?? ""
    state.withLock { state in
      let records = state.changed[Int(bitPattern: pointer)]?.count ?? 0
      state.changed[Int(bitPattern: pointer)] = []
      guard isCommit, records > limit, state.excess == nil, !path.isEmpty else { return }
      state.excess = (path, records)
    }
  }
}
