import Platform
import ServerStorage

/// The row of an account.
struct AccountRow {
  let header: AccountHeader
  /// The digest of the schemas whose files the records have; `nil` before the first request.
  let schemaSet: String?
  let incarnation: Int64
  /// The wrapped key under which the values of the account are sealed; `nil` if they are not sealed.
  let sealedKey: String?
  /// Whether the deletion of the account has begun.
  let isDeleted: Bool

  /// - Parameter result: the result of ``read`` or ``lock(_:_:)``.
  /// - Throws: ``ServerError`` with `deleted` without a row.
  init(_ result: PostgresResult?) throws {
    guard let result, result.count > 0 else { throw ServerError.accountIsDeleted }
    let row = result.row(0)
    header = AccountHeader(
      lastSequence: row.integer(0), horizon: row.integer(1), forgottenVersion: row.integer(2), epochs: row.texts(3),
      epochStart: row.integer(4), recordCount: row.optionalInteger(9))
    (schemaSet, incarnation, sealedKey) = (row.optionalText(5), row.integer(6), row.optionalText(7))
    isDeleted = row.flag(8)
  }

  /// Refuses a running request, whose token was valid when it began.
  /// - Throws: ``ServerError`` with `deleted` if the deletion of the account has begun.
  func requireAccount() throws { if isDeleted { throw ServerError.accountIsDeleted } }

  /// A node of an earlier version does not count the records that it stores, so its changes make the number unknown.
  private static let columns = """
    SELECT last_sequence, horizon, forgotten_version, epochs, epoch_start, schema_set, incarnation, sealed_key,
      deleted_at IS NOT NULL, CASE WHEN counted_sequence = last_sequence THEN record_count END
    FROM fieldvault.account WHERE account_id = $1::uuid
    """
  static let read = Statement(columns)
  private static let readLocked = Statement(columns + " FOR NO KEY UPDATE")
  static let markUpToDate = Statement(
    "UPDATE fieldvault.account SET schema_set = $2::text, incarnation = $3::bigint WHERE account_id = $1::uuid")

  private static let insertRow = Statement(
    """
    INSERT INTO fieldvault.account (account_id, name, created_at, epochs, epoch_started_at, incarnation)
    SELECT $1::uuid, $2::text, $3::bigint, ARRAY[$4::text], $3::bigint, incarnation FROM fieldvault.server
    """)

  /// Returns the statement that adds an account.
  /// - Parameters:
  ///   - time: the time of its creation, in milliseconds since 1970-01-01 UTC.
  ///   - epoch: its first epoch.
  static func insert(_ account: AccountName, at time: Int64, epoch: String) throws -> Statement.Command {
    insertRow(try key(account), .text(account.name), .integer(time), .text(epoch))
  }

  /// Locks an account that a transaction changes.
  /// - Parameter begins: whether to begin the transaction.
  static func lock(
    _ name: AccountName, _ connection: PostgresConnection, begins: Bool = true
  ) throws -> (row: AccountRow, rows: PostgresRowsWriter) {
    let account = try key(name)
    // Each statement of this transaction sees what was committed when it began. No other transaction changes the account.
    let commands = [readLocked(account), PostgresRows.jobs(account)]
    let results =
      try begins ? connection.begin(TransactionStatements.begin, commands) : connection.run(commands)
    let row = try AccountRow(results.first)
    try connection.checkIncarnation(of: row)
    let jobs = results.last?.map(AccountJob.init) ?? []
    return (row, PostgresRowsWriter(connection, account, row.header, jobs: jobs))
  }

  /// Whether the account has the values that the schemas give it, in the incarnation that the connection sees.
  /// - Parameter isSealing: whether values have to be sealed.
  func isUpToDate(with set: SchemaSet, isSealing: Bool, _ connection: PostgresConnection) -> Bool {
    schemaSet == set.digest && incarnation == connection.incarnationNumber && (sealedKey != nil || !isSealing)
  }

  /// Returns the form of the account's values.
  /// - Throws: ``ServerError`` if they are sealed and cannot be opened.
  func form(of account: AccountName, _ keys: SealKeys?, _ random: RandomSource) throws -> ValueForm {
    guard let sealedKey else { return .unsealed }
    guard let keys else { throw ServerError(.busy, "the values of an account are sealed, and this node has no keys") }
    return ValueForm(try keys.open(sealedKey, of: account), random)
  }

  private static let setKey = Statement(
    "UPDATE fieldvault.account SET sealed_key = $2::text WHERE account_id = $1::uuid")

  /// Returns the statement that stores the wrapped key of an account.
  static func keep(sealedKey: String, of account: PostgresValue) -> Statement.Command {
    setKey(account, .text(sealedKey))
  }

  /// Returns the id of an account: the bytes of its folder's name, which is 32 hexadecimal digits.
  static func key(_ account: AccountName) throws -> PostgresValue {
    let digits = account.folder.utf8.map(HexText.value)
    guard digits.count == 32, digits.allSatisfy({ $0 < 16 }) else {
      throw ServerError(.damaged, "an account has no id of 32 hexadecimal digits")
    }
    return .bytes(stride(from: 0, to: 32, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
  }
}
