import ServerStorage

/// The hints of errors: the only place that words a remedy in terms of commands and options.
extension ServerRemedy {
  var hint: String {
    switch self {
    case .advice(let text): text
    case .addFirstUser(let folder): "to create it: fieldvault-server user add NAME --data \(folder)"
    case .restoreBackup: "restore the folder from a backup: fieldvault-server restore FILE --data NEW_DIR"
    case .putFileBackOrRestoreBackup:
      "put the file back, or restore the folder from a backup: fieldvault-server restore FILE --data NEW_DIR"
    case .putKeyBackOrNameCopy: "put the file back, or use a copy of it: --key-file FILE"
    case .nameKeyFile: "use the key file that it was created with: --key-file FILE"
    case .nameSealKeys: "add --seal-key FILE, with the file of the other nodes"
    case .makeSealKey(let file): "to add a key: fieldvault-server seal-key new \(file)"
    case .nameKeyFileOfBackup: "add --key-file FILE"
    case .leaveOutSchema: "remove it from --schema, or rename the new schema"
    case .showTokens: "to list tokens: fieldvault-server token list"
    case .showAccounts: "to list accounts: fieldvault-server account list"
    case .showUsers: "to list users: fieldvault-server user list"
    case .migrate: "start the server once, or run: fieldvault-server migrate"
    case .finishDeletion(let account): "to finish the deletion: fieldvault-server account delete \(account)"
    case .addToken(let user): "to add another token: fieldvault-server token add \(user)"
    }
  }
}
