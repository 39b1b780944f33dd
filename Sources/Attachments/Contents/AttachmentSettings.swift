import CipherSQL
import Outbox

/// The treatment of the location that a picture contains.
public enum LocationStripping: String, Sendable, Hashable, CaseIterable {
  /// Stores files unchanged.
  case off = "false"
  /// Removes the location from pictures. A file whose location cannot be removed is stored unchanged, with a note.
  case on = "true"
  /// Like ``on``, but refuses a file whose location cannot be removed.
  case required = "require"
}

/// The settings of a vault for its attachment files.
public struct AttachmentSettings: Sendable, Hashable {
  /// The bytes that files may occupy on this device before files that the server holds are evicted. Default: 2 GB.
  public var limit: Int64 = 2_000_000_000
  /// Whether uploads send the plaintext, for a server that processes images, instead of the encrypted file.
  public var sendsPlaintext = false
  /// Whether file transfers wait for an unmetered network.
  public var waitsForUnmetered = false
  /// Whether sync fetches all full files. If `false`, it fetches thumbnails only.
  public var fetchesAll = false
  /// The treatment of the location that a picture contains.
  public var stripLocation = LocationStripping.off
  /// The longest side in pixels to which new pictures are scaled down; `nil` keeps their size.
  public var longestSide: Int?

  /// Creates the default settings.
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
