import CipherSQL

extension ServerDirectory {
  /// Returns the stored time of retention; `nil` before its start.
  public func retentionTime() throws -> Int64? {
    try database.read { try $0.fetchOne("SELECT milliseconds FROM RetentionTime", as: Int64.self) }
  }

  /// Stores the time of retention, which never steps back.
  public func storeRetentionTime(_ time: Int64) throws {
    try database.write { connection in
      _ = try connection.execute(
        """
        INSERT INTO RetentionTime (id, milliseconds) VALUES (1, \(time))
        ON CONFLICT (id) DO UPDATE SET milliseconds = max(milliseconds, excluded.milliseconds)
        """)
    }
  }

  /// Returns `true`: one server at a time uses a folder.
  public func ownsRetention(at now: Int64, until end: Int64) -> Bool { true }
}
