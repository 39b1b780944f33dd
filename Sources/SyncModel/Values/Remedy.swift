/// The action that resolves an error or a finding. It names no command: each program words the remedy in terms of its
/// interface. New cases may be added.
public enum Remedy: Hashable, Codable, Sendable {
  /// An action outside the program or on the data, worded for the user.
  case advice(String)

  // MARK: Vault and schema

  /// Create a vault, because it does not exist.
  case createVault
  /// Name the folder of a vault.
  case nameVaultFolder
  /// Apply the pending schema files.
  case migrate
  /// Change the record that has the value, or apply newer schema files, then sync.
  case changeHolderOrMigrate
  /// Show the schema files and whether they are applied.
  case showMigrations
  /// Compare the tables with the schema files.
  case compareSchema
  /// Undo the changes that the comparison with the schema files shows.
  case undoSchemaChanges
  /// Show the entities of the vault.
  case showEntities

  // MARK: Health

  /// Check the vault.
  case checkVault
  /// Check the disk and the vault. The old key is still valid.
  case checkDiskAndVault
  /// End the other readers of the vault, then check it again.
  case endReadersAndCheckVault
  /// Check the vault again.
  case checkVaultAgain
  /// Repair the vault.
  case repairVault
  /// Repair the vault as its owner.
  case repairVaultAsOwner
  /// Restore a backup, or save the readable part into a new vault.
  case restoreOrSalvage
  /// Free space before the key is rotated.
  case freeSpaceForRotation
  /// Correct the values of a record.
  case correctRecord
  /// Correct the reference of a record, or restore a backup.
  case correctReference

  // MARK: Records

  /// Show the records of an entity.
  case showRecords(entity: String)
  /// Show the deleted records of an entity.
  case showDeletedRecords(entity: String)
  /// Restore a deleted record.
  case restoreRecord(entity: String, uuid: String)
  /// Restore the root of the deletion.
  case restoreParent(entity: String, uuid: String)
  /// Create a new record without a uuid.
  case createWithoutUUID
  /// Assign columns of the file to fields.
  case mapColumns(columns: [String])
  /// Assign a column of the file to a field.
  case mapColumn(name: String, fields: [String])

  /// Name the table of a database for an entity.
  case chooseTable(entity: String, tables: [String])

  // MARK: Attachments

  /// Show the attachments.
  case showAttachments
  /// Verify the files of attachments.
  case verifyAttachments
  /// Verify the files of attachments; the result names their records.
  case findRecordsOfFile
  /// Fetch the files from the server again.
  case fetchAttachmentsAgain
  /// Set the server that has the file, then sync.
  case setRemoteAndSync
  /// Leave device-only mode, then sync.
  case leaveDeviceModeAndSync
  /// Sync; the file is already requested.
  case syncRequestedFile
  /// Choose another path, or allow replacing the file.
  case chooseOtherPathOrReplace

  // MARK: Sync

  /// Sync; the round fetches the missing data.
  case sync
  /// Sync, then try again.
  case syncFirst
  /// Give the server's address and a valid token.
  case setRemote
  /// Follow this project.
  case followProject(entity: String, uuid: String)
  /// Follow all projects.
  case followAllProjects
  /// Follow all projects, or only some of them.
  case followFewerProjects
  /// Show the pending operations.
  case showOutbox
  /// Show all operations, including acknowledged ones.
  case showWholeOutbox
  /// Show why an operation is not sent.
  case explainOperation
  /// Edit the record, retry the operation, or discard it.
  case editRetryOrDiscard
  /// Change the value, or discard the operation.
  case changeValueOrDiscard
  /// Resolve the conflict.
  case resolveConflict
  /// Show the open conflicts.
  case showConflicts
  /// Show all conflicts, including resolved ones.
  case showAllConflicts
  /// Give a value for the field.
  case giveValue(field: String)
  /// Keep the local version with another value of the field, or take the remote version.
  case giveOtherValueOrTakeRemote(field: String)
  /// Keep the local version with another reference in the field, or take the remote version.
  case moveOrTakeRemote(field: String)
}

extension Remedy {
  /// The text of ``advice(_:)``; `nil` for an action that only a program can word.
  public var advice: String? {
    if case .advice(let text) = self { text } else { nil }
  }
}
