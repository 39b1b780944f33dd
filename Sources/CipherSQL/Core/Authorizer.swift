import CSQLCipher
import CStatementPolicy

/// The authorizer of a connection, which SQLite calls before a statement is prepared. Allows the operations that the
/// policy in `statement_policy.h` allows, and collects the tables that the statement reads and writes.
///
/// SQLCipher runs its own pragmas while a statement is prepared. A refusal therefore comes before any effect.
@usableFromInline
final class Authorizer {
  /// A refused action: its name and the way to reach the same goal.
  private struct Refusal {
    let message: String
    let remedy: String
  }

  private var accessed = AccessedRegion()
  private var isRecording = false
  private var refusal: Refusal?
  private var authority = fieldvault_by_caller
  /// Whether the statement that was prepared last is a pragma.
  private(set) var isPragma = false
  /// Whether the statement that was prepared last changes or drops a table, view, index or trigger, so that the names
  /// of schema objects matter.
  private(set) var dependsOnSchemas = false
  /// The lower-case names of the objects of schemas; `nil` until a statement depends on them.
  var schemaObjects: Set<String>?

  init() {}

  /// Whether the statement that is being prepared is limited to the rights of a caller.
  var isByCaller: Bool { authority == fieldvault_by_caller }

  /// Installs the authorizer. It exists as long as the connection that owns it, so the pointer in C stays valid.
  func install(on database: OpaquePointer) {
    sqlite3_set_authorizer(
      database,
      { context, action, first, second, _, trigger in
        guard let context else { return SQLITE_DENY }
        return Unmanaged<Authorizer>.fromOpaque(context).takeUnretainedValue().decide(action, first, second, trigger)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func begin() {
    accessed = AccessedRegion()
    refusal = nil
    isPragma = false
    dependsOnSchemas = false
    isRecording = true
  }

  func end() -> AccessedRegion {
    isRecording = false
    return accessed
  }

  /// Runs a closure whose statements may use any pragma and control transactions.
  func asLibrary<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try with(fieldvault_by_library, body)
  }

  /// Runs a closure whose statements may change objects of schemas, like the statements of a schema file.
  func asMigration<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try with(fieldvault_by_migration, body)
  }

  private func with<Result, Failure: Error>(
    _ authority: fieldvault_authority, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let before = self.authority
    self.authority = authority
    defer { self.authority = before }
    return try body()
  }

  /// Returns the refusal that caused SQLite's result, as an error; `nil` if the result has another cause.
  func refusalError(result: Int32, sql: String?) -> SQLError? {
    // A refused function is an ordinary error for SQLite.
    guard [SQLITE_AUTH, SQLITE_ERROR].contains(result & 0xff), let refusal else { return nil }
    self.refusal = nil
    return SQLError(.notAllowed, refusal.message, hint: refusal.remedy, sqliteCode: result, sql: sql)
  }

  /// Returns the error for VACUUM.
  static func vacuum(_ sql: String) -> SQLError {
    let refusal = describe(fieldvault_refused_attach, SQLITE_ATTACH, nil, nil)
    return SQLError(.notAllowed, refusal.message, hint: refusal.remedy, sql: sql)
  }

  private func decide(
    _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?, _ trigger: UnsafePointer<CChar>?
  ) -> Int32 {
    let decision = fieldvault_check(
      action, first, second, trigger, authority,
      { context, name in
        guard let context, let name else { return 1 }
        return Unmanaged<Authorizer>.fromOpaque(context).takeUnretainedValue().isOfSchema(name) ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
    guard decision == fieldvault_allowed else {
      refusal = Self.describe(decision, action, first, second)
      return SQLITE_DENY
    }
    note(action, first, second)
    return SQLITE_OK
  }

  /// Returns whether an object belongs to a schema. While the names are unknown, every name does: the connection reads
  /// them and prepares the statement again.
  private func isOfSchema(_ name: UnsafePointer<CChar>) -> Bool {
    dependsOnSchemas = true
    guard let schemaObjects else { return true }
    return schemaObjects.contains(String(cString: name).lowercased())
  }

  private static func describe(
    _ decision: fieldvault_refusal, _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?
  ) -> Refusal {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
      // Longer names are cut; the buffer always ends with a zero.
      guard let start = buffer.baseAddress,
        let remedy = fieldvault_describe(decision, action, first, second, start, buffer.count)
      else { return Refusal(message: "", remedy: "") }
      return Refusal(message: String(cString: start), remedy: String(cString: remedy))
    }
  }

  private func note(_ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?) {
    guard isRecording, let first else { return }
    switch action {
    case SQLITE_READ:
      let column = second.map { String(cString: $0) } ?? ""
      accessed.reads[String(cString: first), default: []].insert(column)
    case SQLITE_UPDATE:
      accessed.updates[String(cString: first), default: []].insert(second.map { String(cString: $0) } ?? "")
    case SQLITE_INSERT, SQLITE_DELETE:
      accessed.rowChanges.insert(String(cString: first))
    case SQLITE_PRAGMA:
      isPragma = true
    default:
      break
    }
  }
}

/// The tables and columns that a statement reads and writes, as SQLite's authorizer reports them at preparation.
/// Tables and columns of triggers and views are included.
struct AccessedRegion: Equatable {
  /// Columns read, by table. A table with an empty set is read without any column, such as by `count(*)`.
  var reads: [String: Set<String>] = [:]
  /// Columns updated, by table.
  var updates: [String: Set<String>] = [:]
  /// Tables that rows are inserted into or deleted from.
  var rowChanges: Set<String> = []

  var isEmpty: Bool { reads.isEmpty && updates.isEmpty && rowChanges.isEmpty }

  mutating func formUnion(_ other: AccessedRegion) {
    reads.merge(other.reads) { $0.union($1) }
    updates.merge(other.updates) { $0.union($1) }
    rowChanges.formUnion(other.rowChanges)
  }
}
