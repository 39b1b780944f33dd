import CipherSQL
import ServerStorage

extension ServerDirectory {
  /// Adds an event to the audit log.
  public func note(_ event: AuditEvent, by member: Member?) throws {
    try database.write { try note(event, by: member?.auditName, $0) }
  }

  /// - Parameter actor: the acting user; `nil` for the system's user.
  func note(_ event: AuditEvent, by actor: String? = nil, _ connection: WriteConnection) throws {
    try Self.note(event, by: actor ?? folder.actor, at: environment.now, connection)
  }

  /// - Parameter time: in milliseconds since 1970-01-01 UTC.
  static func note(_ event: AuditEvent, by actor: String, at time: Int64, _ connection: WriteConnection) throws {
    try connection.execute(
      """
      INSERT INTO AuditEntry (time, actor, action, user, details)
      VALUES (\(time), \(actor), \(event.action.rawValue), \(event.user.sqlArgument), \(event.details))
      """)
  }

  /// Returns the newest entries of the audit log, oldest first.
  public func auditLog(since: Int64?, atMost limit: Int) throws -> [AuditEntry] {
    try database.read { connection in
      var entries: [AuditEntry] = []
      try connection.forEach(
        """
        SELECT number, time, actor, action, user, details FROM AuditEntry
        WHERE time >= \(since ?? Int64.min) ORDER BY time DESC, number DESC LIMIT \(limit)
        """
      ) { row in
        entries.append(
          AuditEntry(
            number: try row.decode(at: 0), time: try row.decode(at: 1), actor: try row.decode(at: 2),
            action: try row.decode(at: 3), user: try row.decode(at: 4), details: try row.decode(at: 5)))
      }
      return entries.reversed()
    }
  }

  /// Returns the time of the last event of a kind.
  public func lastTime(of action: AuditEvent.Action) throws -> Int64? {
    try database.read { connection in
      try connection.fetchOne(
        "SELECT time FROM AuditEntry WHERE action = \(action.rawValue) ORDER BY time DESC LIMIT 1", as: Int64.self)
    }
  }
}
