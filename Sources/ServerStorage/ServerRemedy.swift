/// The action that resolves a failure of the server. It names no command: each program words the remedy in terms of its
/// interface. New cases may be added.
public enum ServerRemedy: Hashable, Sendable {
  /// An action outside the program, worded for the administrator.
  case advice(String)
  /// Create the data folder by adding its first user.
  case addFirstUser(folder: String)
  /// Restore a backup into a new folder.
  case restoreBackup
  /// Put the file back, or restore a backup into a new folder.
  case putFileBackOrRestoreBackup
  /// Put the key file back, or name a copy of it.
  case putKeyBackOrNameCopy
  /// Name the key file that the data were created with.
  case nameKeyFile
  /// Name the file with the keys under which values are sealed.
  case nameSealKeys
  /// Add a valid key to the file.
  case makeSealKey(file: String)
  /// Name the key file, which is not in the backup.
  case nameKeyFileOfBackup
  /// Do not name the schema again, or give the new schema another name.
  case leaveOutSchema
  /// Show the tokens.
  case showTokens
  /// Show the devices.
  case showDevices
  /// Show the users.
  case showUsers
  /// Show the accounts.
  case showAccounts
  /// Apply the files of the schemas to all accounts.
  case migrate
  /// Finish the deletion of the account.
  case finishDeletion(account: String)
  /// Add another token for the user.
  case addToken(user: String)

  /// The text of ``advice(_:)``; `nil` for an action that only a program can word.
  public var advice: String? {
    if case .advice(let text) = self { text } else { nil }
  }
}
