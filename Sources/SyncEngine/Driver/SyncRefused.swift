/// The reason why no sync round began.
public enum SyncRefused: Error, Equatable, Sendable, CustomStringConvertible {
  /// The vault has no server.
  case noRemote
  /// The vault is in device-only mode.
  case deviceOnly
  /// Another worker has the vault, in this process or another.
  case busy
  /// The settings permit only unmetered networks, and the network is metered.
  case metered

  /// The reason, for the user.
  public var message: String {
    switch self {
    case .noRemote: "this vault has no server"
    case .deviceOnly: "this vault is in device-only mode, so sync is disabled"
    case .busy: "another process is syncing this vault"
    case .metered: "sync waits for an unmetered network"
    }
  }

  /// The message.
  public var description: String { message }
}
