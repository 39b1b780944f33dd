import CipherSQL

/// The treatment of the place where a picture was taken.
public enum LocationStripping: String, Sendable, Hashable, CaseIterable {
  /// Files are stored as they are.
  case off = "false"
  /// Pictures are stored without the place. A file that cannot be cleaned is stored as it is, with a note.
  case on = "true"
  /// As ``on``, but a file that cannot be cleaned is refused.
  case required = "require"
}

/// What a person has chosen for the files of a vault.
public struct AttachmentSettings: Sendable, Hashable {
  /// How many bytes the files may take on this device before those that the server has make room: 2 GB.
  public var limit: Int64 = 2_000_000_000
  /// What is sent: the encrypted file, or the content, for a server that works with images.
  public var sendsPlaintext = false
  /// Whether files wait for a network that does not count bytes.
  public var waitsForUnmetered = false
  /// Whether all files are fetched, not the thumbnails alone.
  public var fetchesAll = false
  /// The treatment of the place where a picture was taken.
  public var stripLocation = LocationStripping.off
  /// The longest side to which pictures are made smaller when they are taken in, in pixels; nil leaves them as they are.
  public var longestSide: Int?

  /// The defaults.
  public init() {}

  package static func read(from connection: Connection) throws -> AttachmentSettings {
    var settings = AttachmentSettings()
    func value(_ name: SyncSettings.Name) throws -> String? { try SyncSettings.value(name, in: connection) }
    if let limit = try value(.storageLimit).flatMap({ Int64($0) }) { settings.limit = limit }
    settings.sendsPlaintext = try value(.upload) == "plaintext"
    settings.waitsForUnmetered = try value(.unmeteredFiles) == "true"
    settings.fetchesAll = try value(.download) == "all"
    settings.stripLocation = try value(.stripLocation).flatMap(LocationStripping.init) ?? .off
    settings.longestSide = try value(.recompress).flatMap { Int($0) }
    return settings
  }
}

extension Vault {
  /// What a person has chosen for the files.
  public func attachmentSettings() throws -> AttachmentSettings {
    try database.read { try AttachmentSettings.read(from: $0) }
  }

  /// What the files take, and what waits.
  public func attachmentUsage() throws -> AttachmentUsage { try database.read { try AttachmentUsage.read(from: $0) } }
}
