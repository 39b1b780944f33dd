/// The reason why no sync round began.
public enum SyncRefused: Error, Equatable, Sendable, CustomStringConvertible {
  /// The vault has no server.
  case noRemote
  /// The vault is in device-only mode.
  case deviceOnly
  /// Another worker has the vault, in this process or another.
  case busy
  /// Only unmetered networks may be used, and the network is metered.
  case metered

  /// The reason, for the user.
  public var message: String {
    switch self {
    case .noRemote: "this vault has no server"
    case .deviceOnly: "this vault is in device-only mode, so nothing is sent or fetched"
    case .busy: "another process syncs this vault"
    case .metered: "sync waits for a network that does not count bytes"
    }
  }

  /// The message.
  public var description: String { message }
}
