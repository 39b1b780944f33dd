import CPostgres
import Platform

/// How a server reaches its PostgreSQL database.
public struct PostgresSettings: Sendable {
  /// The address: `postgresql://user@host/database`, or words such as `host=... dbname=...`. With several hosts, the one
  /// that accepts writes is used.
  public let url: String
  /// The address at which notifications arrive; `nil` for ``url``. A pooler in transaction mode delivers none.
  public var listenURL: String?
  /// Whether ``url`` leads to a pooler in transaction mode, such as PgBouncer. Statements are not prepared then, because each
  /// transaction may have another server connection.
  public var isPooled = false
  /// The number of connections, at least 2.
  public var connections = 16
  /// The keys under which values from records are sealed; `nil` if they are stored as they are.
  public var sealKeys: SealKeys?
  /// The acting user for the audit log.
  public var actor = ProcessResources.userName
  /// The time after which the database ends a statement, in seconds.
  public var statementSeconds = 15
  /// The time that a statement waits for a lock, in seconds.
  public var lockSeconds = 10
  /// The time during which a transaction is repeated that the database could not finish, in seconds.
  public var retrySeconds = 20

  /// Creates settings.
  public init(url: String) { self.url = url }

  /// Returns whether an address contains a password.
  public static func hasPassword(_ url: String) -> Bool {
    guard let options = PQconninfoParse(url, nil) else { return false }
    defer { PQconninfoFree(options) }
    var option = options
    while let keyword = option.pointee.keyword {
      let isPassword = ["password", "sslpassword"].contains(String(cString: keyword))
      if isPassword, option.pointee.val != nil { return true }
      option += 1
    }
    return false
  }

  /// The time after which a connection without a response is given up.
  var responseLimit: Duration { .seconds(statementSeconds + 5) }

  /// The parameters of libpq. Those in the address replace the ones before it.
  func parameters(url: String) -> [(name: String, value: String)] {
    [
      ("connect_timeout", "5"), ("keepalives_idle", "30"), ("keepalives_interval", "10"), ("keepalives_count", "3"),
      ("tcp_user_timeout", "20000"), ("target_session_attrs", "read-write"),
      ("fallback_application_name", "fieldvault-server"), ("dbname", url), ("client_encoding", "UTF8"),
    ]
  }

  /// The settings of a session for the planner.
  ///
  /// Every query finds its rows by an index. Without these settings the planner may choose another way while a table is
  /// small and keep it when the table has grown. A plan that still contains such a way has an immense cost, for which
  /// PostgreSQL would compile the query to machine code: this takes longer than to run it.
  package static let planning: [(name: String, value: String)] = [
    ("enable_seqscan", "off"), ("enable_hashjoin", "off"), ("enable_mergejoin", "off"),
    ("plan_cache_mode", "force_generic_plan"), ("jit", "off"),
  ]

  /// The settings of a session, or of a transaction behind a pooler.
  private var variables: [(name: String, value: String)] {
    [
      ("statement_timeout", "'\(statementSeconds)s'"), ("lock_timeout", "'\(lockSeconds)s'"),
      ("idle_in_transaction_session_timeout", "'\(statementSeconds * 2)s'"),
    ] + Self.planning
  }

  /// The statements that a direct connection runs once.
  var sessionStatements: [Statement] { isPooled ? [] : variables.map { Statement("SET \($0.name) = \($0.value)") } }

  /// The statements that each transaction behind a pooler begins with.
  var transactionStatements: [Statement] {
    isPooled ? variables.map { Statement("SET LOCAL \($0.name) = \($0.value)") } : []
  }
}
