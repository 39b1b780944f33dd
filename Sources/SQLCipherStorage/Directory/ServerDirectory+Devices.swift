import CipherSQL
import ServerStorage

extension ServerDirectory {
  /// Returns the revoked devices of an account, for each request. The cost grows with their number only.
  static func revokedDevices(of account: Int64, _ connection: Connection) throws -> Set<String> {
    // By its own choice, SQLite would read all devices of the account by the primary key.
    Set(
      try connection.fetch(
        """
        SELECT deviceId FROM DeviceContact INDEXED BY DeviceContact_revoked
        WHERE accountId = \(account) AND revokedAt IS NOT NULL
        """, as: String.self))
  }

  /// Stores the last requests of devices.
  public func note(_ contacts: [DeviceContact.Key: DeviceContact]) throws {
    try database.write { connection in
      for (account, devices) in Dictionary(grouping: contacts, by: \.key.account) {
        let id = try connection.fetchOne(
          "SELECT accountId FROM Account WHERE folder = \(account.folder) AND deletedAt IS NULL", as: Int64.self)
        // The account may have been deleted since.
        guard let id else { continue }
        let before = try Self.count(of: id, connection)
        for (key, contact) in devices { try Self.store(contact, of: key.deviceId, id, connection) }
        guard before + devices.count > DeviceContact.most else { continue }
        try connection.execute(
          """
          DELETE FROM DeviceContact WHERE accountId = \(id) AND revokedAt IS NULL AND deviceId IN (
            SELECT deviceId FROM DeviceContact WHERE accountId = \(id)
            ORDER BY lastSeenAt DESC, deviceId LIMIT -1 OFFSET \(DeviceContact.most))
          """)
      }
    }
  }

  private static func count(of account: Int64, _ connection: Connection) throws -> Int {
    try connection.fetchOne("SELECT count(*) FROM DeviceContact WHERE accountId = \(account)", as: Int.self) ?? 0
  }

  private static func store(
    _ contact: DeviceContact, of device: String, _ account: Int64, _ connection: WriteConnection
  ) throws {
    let toldAt = contact.isRefused ? contact.time : nil
    try connection.execute(
      """
      INSERT INTO DeviceContact (accountId, deviceId, tokenId, version, firstSeenAt, lastSeenAt, position, toldAt)
      VALUES (\(account), \(device), \(contact.tokenId), \(contact.version), \(contact.time), \(contact.time),
        \(contact.position), \(toldAt))
      ON CONFLICT (accountId, deviceId) DO UPDATE SET tokenId = excluded.tokenId,
        version = coalesce(excluded.version, version), lastSeenAt = max(lastSeenAt, excluded.lastSeenAt),
        position = coalesce(excluded.position, position), toldAt = coalesce(toldAt, excluded.toldAt)
      """)
  }

  /// Returns the devices of an account, or of all accounts, by account and last request.
  public func devices(of name: String?) throws -> [ListedDevice] {
    try database.read { connection in
      if let name {
        let found = try connection.fetchOne(
          "SELECT 1 FROM Account WHERE name = \(name) AND deletedAt IS NULL", as: Int.self)
        if found == nil { throw ServerError.noSuchAccount(name) }
      }
      let belongs: SQL = name.map { "Account.name = \($0)" } ?? "1"
      return try Self.listedDevices(
        "\(Self.deviceColumns) WHERE deletedAt IS NULL AND \(belongs) ORDER BY Account.name, lastSeenAt DESC, deviceId",
        connection)
    }
  }

  static let deviceColumns: SQL = """
    SELECT deviceId, Account.name, Account.folder, Member.name, tokenId, version, firstSeenAt, lastSeenAt, position,
      DeviceContact.revokedAt, toldAt
    FROM DeviceContact JOIN Account USING (accountId) LEFT JOIN Token USING (tokenId) LEFT JOIN Member USING (userId)
    """

  /// - Parameter sql: a query of ``deviceColumns``.
  static func listedDevices(_ sql: SQL, _ connection: Connection) throws -> [ListedDevice] {
    var devices: [ListedDevice] = []
    try connection.forEach(sql) { row in
      devices.append(
        ListedDevice(
          id: try row.decode(at: 0), account: AccountName(name: try row.decode(at: 1), folder: try row.decode(at: 2)),
          user: try row.decode(at: 3), tokenId: try row.decode(at: 4), version: try row.decode(at: 5),
          firstSeenAt: try row.decode(at: 6), lastSeenAt: try row.decode(at: 7), position: try row.decode(at: 8),
          revokedAt: try row.decode(at: 9), toldAt: try row.decode(at: 10)))
    }
    return devices
  }

  /// Revokes a device in all accounts that know it.
  public func revokeDevice(_ id: String) throws -> Bool {
    try database.write { connection in
      let users = try connection.fetch(
        """
        SELECT name FROM DeviceContact LEFT JOIN Token USING (tokenId) LEFT JOIN Member USING (userId)
        WHERE deviceId = \(id) ORDER BY name IS NULL, name
        """, as: Optional<String>.self)
      guard let user = users.first else { throw ServerError.noSuchDevice(id) }
      let isNew =
        try connection.execute(
          "UPDATE DeviceContact SET revokedAt = \(environment.now) WHERE deviceId = \(id) AND revokedAt IS NULL") > 0
      if isNew { try note(.revoked(device: id, of: user), connection) }
      return isNew
    }
  }

  /// Returns the number of the last change of an account.
  public func lastSequence(of account: AccountName) throws -> Int64 {
    let records = try AccountDatabase.records.open(account.folder, in: folder)
    defer { records.close() }
    return try records.read { connection in
      try connection.fetchOne("SELECT lastSequence FROM ServerState", as: Int64.self) ?? 0
    }
  }
}
