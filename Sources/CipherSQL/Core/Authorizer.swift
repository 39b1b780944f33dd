import CSQLCipher

/// The connection's answer to SQLite, which asks before a statement may do anything: allows what ``StatementPolicy``
/// allows and notes what the statement reads and writes.
///
/// SQLite asks while it prepares a statement, and SQLCipher runs its own pragmas inside that preparation. A refusal
/// therefore comes before anything has happened.
@usableFromInline
final class Authorizer {
  private var footprint = Footprint()
  private var isRecording = false
  private var refusal: StatementPolicy.Refusal?
  /// Set while the library runs a statement of its own that callers may not run.
  private var isInternal = false

  init() {}

  /// The authorizer lives as long as the connection that owns it, so the pointer handed to C stays valid.
  func install(on database: OpaquePointer) {
    sqlite3_set_authorizer(
      database,
      { context, action, first, second, _, _ in
        guard let context else { return SQLITE_DENY }
        return Unmanaged<Authorizer>.fromOpaque(context).takeUnretainedValue().answer(action, first, second)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func begin() {
    footprint = Footprint()
    refusal = nil
    isRecording = true
  }

  func end() -> Footprint {
    isRecording = false
    return footprint
  }

  /// Runs a body whose statements may use any pragma and control transactions.
  func asLibrary<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let before = isInternal
    isInternal = true
    defer { isInternal = before }
    return try body()
  }

  /// The refusal behind SQLite's result, as an error; `nil` when the result has another cause.
  func refusalError(result: Int32, sql: String?) -> SQLError? {
    // A refused function is an ordinary error for SQLite.
    guard [SQLITE_AUTH, SQLITE_ERROR].contains(result & 0xff), let refusal else { return nil }
    self.refusal = nil
    return SQLError(.notAllowed, refusal.message, hint: refusal.remedy, sqliteCode: result, sql: sql)
  }

  private func answer(
    _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?
  ) -> Int32 {
    if let refusal = StatementPolicy.refusal(of: action, first, second, isInternal: isInternal) {
      self.refusal = refusal
      return SQLITE_DENY
    }
    note(action, first, second)
    return SQLITE_OK
  }

  private func note(_ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?) {
    guard isRecording, let first else { return }
    switch action {
    case SQLITE_READ:
      let column = second.map { String(cString: $0) } ?? ""
      footprint.reads[String(cString: first), default: []].insert(column)
    case SQLITE_UPDATE:
      footprint.updates[String(cString: first), default: []].insert(second.map { String(cString: $0) } ?? "")
    case SQLITE_INSERT, SQLITE_DELETE:
      footprint.rowChanges.insert(String(cString: first))
    default:
      break
    }
  }
}
