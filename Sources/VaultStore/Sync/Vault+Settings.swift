import CipherSQL
import Platform
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The server of a vault, as commands show it.
public struct RemoteSettings: Sendable, Hashable {
  /// The address of the server.
  public let url: String
  /// The route file of a REST remote, as it was given; `nil` for a FieldVault server.
  public let routes: String?
  /// Whether a token is stored. The token itself is never shown.
  public let hasToken: Bool
  /// The command that provides tokens, or `nil`.
  public let tokenCommand: String?
  /// Whether requests can have a token.
  public var hasCredentials: Bool { hasToken || tokenCommand != nil }
  /// The PEM-encoded certificates of authorities that are accepted besides those of the system, or `nil`.
  public let authorities: String?
  /// The account, after the server has named it.
  public let account: String?
  /// The user of the token.
  public let user: String?
}

/// The routes of a REST remote, as a vault stores them.
public struct RemoteRoutes: Sendable, Hashable {
  /// The route file.
  public let text: String
  /// The kinds of write that the remote accepts, by entity type. Other writes are refused when they are made.
  public let takes: [String: Set<OperationKind>]

  /// Creates routes. `RouteFile` of the engine creates them from a file.
  public init(text: String, takes: [String: Set<OperationKind>]) { (self.text, self.takes) = (text, takes) }
}

extension Vault {
  /// The server, or `nil` if it is not set.
  public func remote() throws -> RemoteSettings? {
    try database.read { connection in
      guard let url = try SyncSettings.value(.remoteURL, in: connection) else { return nil }
      return RemoteSettings(
        url: url, routes: try SyncSettings.value(.remoteRoutes, in: connection),
        hasToken: try SyncSettings.value(.remoteToken, in: connection) != nil,
        tokenCommand: try SyncSettings.value(.remoteTokenCommand, in: connection),
        authorities: try SyncSettings.value(.remoteAuthorities, in: connection),
        account: try SyncSettings.value(.account, in: connection), user: try SyncSettings.value(.user, in: connection))
    }
  }

  /// Sets the server. A token is stored in the encrypted database and nowhere else.
  ///
  /// The next contact shows whether it is another server than before. In this case everything is queued as new.
  /// - Parameters:
  ///   - token: `nil` keeps the stored token, unless the address changes: a token is sent only to the address that it
  ///     was given for.
  ///   - tokenCommand: a command of the user whose output is a new token, for a program that runs it. It replaces the
  ///     stored token, which may belong to another user, and a token without a command removes the command.
  ///   - routes: the routes of a REST remote; `nil` keeps the stored routes, unless the address changes.
  ///   - authorities: PEM-encoded certificates of authorities that are accepted besides those of the system; `nil` keeps
  ///     the stored ones, unless the address changes.
  public func setRemote(
    url: String, token: String?, tokenCommand: String? = nil, routes: RemoteRoutes? = nil, authorities: String? = nil
  ) throws {
    try database.write { connection in
      let isSame = try SyncSettings.value(.remoteURL, in: connection) == url
      if routes != nil || !isSame { try set(routes, in: connection) }
      try SyncSettings.set(.remoteURL, url, in: connection)
      if token != nil || tokenCommand != nil || !isSame {
        try SyncSettings.set(.remoteToken, token, in: connection)
        try SyncSettings.set(.remoteTokenCommand, tokenCommand, in: connection)
      }
      // The server refuses the id of a revoked device, whatever the token.
      if token != nil || tokenCommand != nil, try SyncSettings.value(.isRevoked, in: connection) != nil {
        try SyncSettings.set(.isRevoked, nil, in: connection)
        try SyncSettings.drawDevice(reason: "revoked", in: connection)
      }
      if authorities != nil || !isSame { try SyncSettings.set(.remoteAuthorities, authorities, in: connection) }
      try SyncSettings.set(.pause, nil, in: connection)
      try SyncSettings.requestRound(in: connection)
    }
  }

  /// Removes the address, the token and the authorities of the server. Operations, versions and cursor stay, so that sync continues
  /// when the same server is set again.
  public func unsetRemote() throws {
    try database.write { connection in
      for name in [SyncSettings.Name.remoteURL, .remoteToken, .remoteTokenCommand, .remoteAuthorities, .pause] {
        try SyncSettings.set(name, nil, in: connection)
      }
      try set(nil, in: connection)
    }
  }

  private func set(_ routes: RemoteRoutes?, in connection: WriteConnection) throws {
    try SyncSettings.set(.remoteRoutes, routes?.text, in: connection)
    try RouteTriggers.store(
      (routes?.takes ?? [:]).flatMap { type, kinds in kinds.map { (type: type, kind: $0.rawValue) } }, in: connection)
    try RouteTriggers.replace(for: entities, in: connection)
  }

  /// The token, for the type that sends requests.
  package func remoteToken() throws -> String? {
    try database.read { try SyncSettings.value(.remoteToken, in: $0) }
  }

  /// Returns the id of this device at the server; `nil` before the first contact.
  package func deviceId() throws -> String? { try database.read { try SyncSettings.value(.deviceId, in: $0) } }

  /// Returns the token for requests to an address; `nil` if the vault has another server now, or no token.
  package func remoteToken(for url: String) throws -> String? {
    try database.read { connection in
      guard try SyncSettings.value(.remoteURL, in: connection) == url else { return nil }
      return try SyncSettings.value(.remoteToken, in: connection)
    }
  }

  /// Returns the command that provides tokens for an address; `nil` if the vault has another server now, or no command.
  package func remoteTokenCommand(for url: String) throws -> String? {
    try database.read { connection in
      guard try SyncSettings.value(.remoteURL, in: connection) == url else { return nil }
      return try SyncSettings.value(.remoteTokenCommand, in: connection)
    }
  }

  /// Stores a new token in place of the one that the server refused, or of none. Keeps a token that was set in the
  /// meantime.
  /// - Returns: the stored token for the address; `nil` if the vault has another server now, or no token any more.
  package func replaceRemoteToken(_ refused: String?, with token: String, for url: String) async throws -> String? {
    try await database.write { connection in
      guard try SyncSettings.value(.remoteURL, in: connection) == url else { return nil }
      let stored = try SyncSettings.value(.remoteToken, in: connection)
      guard stored == refused else { return stored }
      try SyncSettings.set(.remoteToken, token, in: connection)
      return token
    }
  }

  /// A setting that a user may change.
  public enum Preference: String, CaseIterable, Sendable {
    /// `device`: nothing is sent or fetched, and nothing is lost. `cloud`: sync works.
    case mode
    /// `true` or `false`: whether sync waits for an unmetered network.
    case unmeteredOnly = "unmetered-only"
    /// The most bytes that attachments may use on this device, such as `2GB`. Above it, files that the server has are
    /// evicted.
    case storageLimit = "storage-limit"
    /// `true` or `false`: whether files wait for an unmetered network. Records do not.
    case unmeteredFiles = "unmetered-files"
    /// `ciphertext` sends the encrypted files. `plaintext` sends their decrypted contents.
    case upload
    /// `thumbnails` or `all`: the files that are fetched automatically.
    case download
    /// `off`, or the longest side in pixels to which added pictures are reduced.
    case recompress
    /// A ``LocationStripping``: `false`, `true` or `require`.
    case stripLocation = "strip-location"
    /// `true` or `false`: whether the records and files that the server has are removed when its operator revokes this device.
    case removeWhenRevoked = "remove-when-revoked"
    /// `all`, `active`, or the UUIDs of the followed projects, separated by commas.
    case projects

    /// The words that the setting accepts; empty if it accepts other values too.
    public var allowedValues: [String] {
      switch self {
      case .mode: ["cloud", "device"]
      case .unmeteredOnly, .unmeteredFiles, .removeWhenRevoked: ["true", "false"]
      case .upload: ["ciphertext", "plaintext"]
      case .download: ["thumbnails", "all"]
      case .stripLocation: LocationStripping.allCases.map(\.rawValue)
      case .storageLimit, .recompress, .projects: []
      }
    }
  }

  /// Returns the value of a setting in the form that ``setPreference(_:_:)`` accepts.
  public func preference(_ preference: Preference) throws -> String {
    try database.read { connection in
      switch preference {
      case .mode: return try SyncSettings.value(.mode, in: connection) ?? "cloud"
      case .unmeteredOnly: return try SyncSettings.value(.unmeteredOnly, in: connection) ?? "false"
      case .storageLimit: return ByteCount.text(try AttachmentSettings.read(from: connection).limit)
      case .unmeteredFiles: return try SyncSettings.value(.unmeteredFiles, in: connection) ?? "false"
      case .upload: return try SyncSettings.value(.upload, in: connection) ?? "ciphertext"
      case .download: return try SyncSettings.value(.download, in: connection) ?? "thumbnails"
      case .recompress: return try SyncSettings.value(.recompress, in: connection) ?? "off"
      case .stripLocation: return try SyncSettings.value(.stripLocation, in: connection) ?? "false"
      case .removeWhenRevoked: return try SyncSettings.value(.removeWhenRevoked, in: connection) ?? "false"
      case .projects:
        if try SyncSettings.value(.activeProjects, in: connection) != nil { return "active" }
        let scopes = try connection.fetch("SELECT entityUuid FROM SyncScope ORDER BY entityUuid", as: String.self)
        return scopes.isEmpty ? "all" : scopes.joined(separator: ",")
      }
    }
  }

  /// Changes a setting. A running worker uses it at once.
  /// - Throws: ``VaultError`` with `badValue` that names a valid value.
  public func setPreference(_ preference: Preference, _ value: String) throws {
    try syncNow { transaction in
      let connection = transaction.connection
      func allowed() throws -> String {
        let values = preference.allowedValues
        guard values.contains(value) else {
          throw VaultError(
            .badValue, "invalid \(preference.rawValue) '\(value)'",
            hint: "use one of \(values.joined(separator: ", "))", name: preference.rawValue, candidates: values)
        }
        return value
      }
      switch preference {
      case .mode:
        let mode = try allowed()
        let before = try SyncSettings.value(.mode, in: connection) ?? "cloud"
        try SyncSettings.set(.mode, mode, in: connection)
        // Much may have changed on both sides since the last sync.
        if before == "device", mode == "cloud" { try SyncSettings.compareNext("mode", in: connection) }
      case .unmeteredOnly: try SyncSettings.set(.unmeteredOnly, allowed(), in: connection)
      case .storageLimit:
        guard let limit = ByteCount.parse(value) else {
          throw VaultError(
            .badValue, "invalid storage-limit '\(value)'", hint: "use a number of bytes, such as 500MB, 2GB or 4GiB",
            name: preference.rawValue)
        }
        try SyncSettings.set(.storageLimit, String(limit), in: connection)
      case .unmeteredFiles: try SyncSettings.set(.unmeteredFiles, allowed(), in: connection)
      case .upload: try SyncSettings.set(.upload, allowed(), in: connection)
      case .download: try SyncSettings.set(.download, allowed(), in: connection)
      case .recompress: try SyncSettings.set(.recompress, try Self.longestSide(value), in: connection)
      case .stripLocation:
        try SyncSettings.set(.stripLocation, allowed(), in: connection)
      case .removeWhenRevoked: try SyncSettings.set(.removeWhenRevoked, allowed(), in: connection)
      case .projects: try Self.follow(value, transaction)
      }
      try SyncSettings.requestRound(in: connection)
    }
  }

  private static func longestSide(_ value: String) throws -> String? {
    if value == "off" { return nil }
    guard let side = Int(value), (16...100_000).contains(side) else {
      throw VaultError(
        .badValue, "invalid recompress '\(value)'", hint: "use off, or the longest side in pixels, 16 to 100000",
        name: "recompress", candidates: ["off"])
    }
    return String(side)
  }

  private static func follow(_ value: String, _ transaction: SyncTransaction) throws {
    guard value == "active" else {
      try SyncSettings.set(.activeProjects, nil, in: transaction.connection)
      return try transaction.follow(try scopes(value))
    }
    let name = SyncTransaction.activeStatus.column
    guard transaction.catalog.tables[SyncTransaction.scopeEntity]?.places[name] != nil else {
      throw VaultError(
        .badValue, "projects cannot be 'active': the projects of this vault have no \(name)",
        hint: "use all, or uuids separated by commas", name: "projects")
    }
    // The next round asks the server for the active projects.
    if try SyncSettings.value(.activeProjects, in: transaction.connection) == nil {
      try SyncSettings.set(.activeProjects, "", in: transaction.connection)
    }
  }

  private static func scopes(_ value: String) throws -> [String] {
    if value == "all" { return [] }
    let parts = value.split(separator: ",").map { $0.filter { $0 != " " } }
    guard !parts.isEmpty else {
      throw VaultError(
        .badValue, "projects is empty", hint: "use all, active, or uuids separated by commas", name: "projects")
    }
    return try parts.map { part in
      guard let uuid = UUID(sqlText: part) else {
        throw VaultError(
          .badValue, "projects: '\(part)' is not a uuid", hint: "use all, active, or uuids separated by commas",
          name: "projects")
      }
      return uuid.sqlText
    }
  }
}
