import FieldVault

func decide(_ vault: Vault, keep: Bool, moveTo other: UUID?) throws {
  for conflict in try vault.conflicts() where conflict.entityType == "Visit" {
    var choices: [String: Vault.ConflictChoice] = [:]
    if let other { choices["siteId"] = .value(other.uuidString.lowercased()) }  // to another parent
    try vault.resolveConflict(conflict.conflictId, takesLocal: keep, choices: choices, user: "ada")
  }
}
