import FieldVault

func decide(_ vault: Vault) throws {
  for conflict in try vault.conflicts() where conflict.entityType == "Project" {
    print(conflict.conflictType, conflict.fields, conflict.localVersion, conflict.remoteVersion ?? "none")
    try vault.resolveConflict(
      conflict.conflictId, takesLocal: false, choices: ["status": .local], note: "by the office", user: "ada")
  }
}
