import ServerStorage

/// The hints of errors: the only place that words a remedy in terms of commands and options.
extension ServerRemedy {
  var hint: String {
    switch self {
    case .advice(let text): text
    case .addFirstUser(let folder): "fieldvault-server user add NAME --data \(folder) makes it"
    case .restoreBackup: "fieldvault-server restore FILE --data NEW_DIR makes the folder anew from a backup"
    case .putFileBackOrRestoreBackup:
      "put the file back, or make the whole folder anew from a backup: fieldvault-server restore FILE --data NEW_DIR"
    case .putKeyBackOrNameCopy: "put the file back, or name a copy of it: --key-file FILE"
    case .nameKeyFile: "name the key file that it was made with: --key-file FILE"
    case .nameKeyFileOfBackup: "name it: --key-file FILE"
    case .leaveOutSchema: "leave it out of --schema, or give the new one another name"
    case .showTokens: "fieldvault-server token list shows them"
    case .showUsers: "fieldvault-server user list shows them"
    case .addToken(let user): "fieldvault-server token add \(user) makes another token for the user"
    }
  }
}
