import VaultStore
import SyncEngine
import SyncModel

/// The hints of errors and findings: the only place that words a remedy in terms of commands and options.
extension Remedy {
  var hint: String {
    switch self {
    case .advice(let text): text
    case .createVault: "to create one: fieldvault init"
    case .nameVaultFolder: "use a folder created by 'fieldvault init'"
    case .migrate: "fieldvault migrate apply"
    case .changeHolderOrMigrate:
      "change the record with that value, or apply newer schema files with 'fieldvault migrate apply'; then sync"
    case .showMigrations: "fieldvault migrate status"
    case .compareSchema: "fieldvault migrate verify"
    case .undoSchemaChanges: "'fieldvault migrate verify' shows each difference; undo it in 'fieldvault shell'"
    case .showEntities: "fieldvault describe"
    case .checkVault: "fieldvault doctor"
    case .checkDiskAndVault: "the old key is still valid; check the disk and run 'fieldvault doctor'"
    case .endReadersAndCheckVault: "stop the long-running readers, then run 'fieldvault doctor' again"
    case .checkVaultAgain: "run 'fieldvault doctor' again"
    case .repairVault: "fieldvault doctor --repair"
    case .repairVaultAsOwner: "fieldvault doctor --repair, as the owner of the vault"
    case .restoreOrSalvage:
      "restore a backup, or save the readable records to a new vault with 'fieldvault doctor --repair'"
    case .freeSpaceForRotation: "free some space before running 'fieldvault key rotate'"
    case .correctRecord: "correct it with 'fieldvault put' or in 'fieldvault shell'"
    case .correctReference: "correct the reference with 'fieldvault put', or restore a backup"
    case .showRecords(let entity): "to list the records: fieldvault list \(entity)"
    case .showDeletedRecords(let entity):
      "to list deleted records: fieldvault list \(entity) --deleted"
    case .restoreRecord(let entity, let uuid): "to restore it: fieldvault undelete \(entity) \(uuid)"
    case .restoreParent(let entity, let uuid): "undelete \(entity) \(uuid)"
    case .createWithoutUUID: "create a new record, without --uuid"
    case .mapColumns(let columns):
      "map columns with --map FIELD=COLUMN; the file has \(columns.joined(separator: ", "))"
    case .mapColumn(let name, let fields):
      "map the column with --map FIELD=\(name); an import with --map ignores columns without a field. "
        + "The fields are \(fields.joined(separator: ", "))"
    case .chooseTable(let entity, let tables):
      "choose a table with --table \(entity)=TABLE; the file has \(tables.joined(separator: ", "))"
    case .showAttachments: "to list attachments: fieldvault attach list"
    case .verifyAttachments: "fieldvault attach verify"
    case .findRecordsOfFile: "to find its records: fieldvault attach verify"
    case .fetchAttachmentsAgain: "fieldvault attach verify --fetch, then fieldvault sync"
    case .chooseOtherPathOrReplace: "choose another name, or replace the file with --force"
    case .setRemoteAndSync:
      "set its server with 'fieldvault remote set URL --token-file FILE', run 'fieldvault sync', then try again"
    case .leaveDeviceModeAndSync: "run 'fieldvault config set mode cloud' and 'fieldvault sync', then try again"
    case .syncRequestedFile: "the file was requested: run 'fieldvault sync', then try again"
    case .sync: "run 'fieldvault sync' to fetch it"
    case .syncFirst: "run 'fieldvault sync', then try again"
    case .setRemote: "fieldvault remote set URL --token-file FILE"
    case .followProject(let entity, let uuid):
      "follow the \(entity) \(uuid) first: fieldvault config set projects"
    case .followAllProjects: "fieldvault config set projects all"
    case .followFewerProjects: "run 'fieldvault config set projects' with all or with fewer uuids"
    case .showOutbox: "to list pending operations: fieldvault outbox list"
    case .showWholeOutbox: "to list all operations: fieldvault outbox list --all"
    case .explainOperation: "to see what blocks it: fieldvault why ENTITY UUID"
    case .editRetryOrDiscard: "edit the record, or run 'fieldvault outbox retry' or 'fieldvault outbox discard'"
    case .changeValueOrDiscard:
      "change the value to send the operation, or discard it with 'fieldvault outbox discard'"
    case .resolveConflict: "fieldvault conflicts resolve"
    case .showConflicts: "fieldvault conflicts list"
    case .showAllConflicts: "to list all conflicts: fieldvault conflicts list --all"
    case .giveValue(let field): "give a value: --set \(field)==VALUE"
    case .giveOtherValueOrTakeRemote(let field):
      "give another value: --take local --set \(field)==VALUE, or --take remote"
    case .moveOrTakeRemote(let field):
      "move the record: --take local --set \(field)==UUID, or delete it: --take remote"
    }
  }
}

extension SyncRefused {
  var hint: String {
    switch self {
    case .noRemote: Remedy.setRemote.hint
    case .deviceOnly: "fieldvault config set mode cloud"
    case .busy: "wait until the other process has finished"
    case .metered: "fieldvault config set unmetered-only false"
    }
  }
}

extension Explanation {
  /// The reason with the command that ends the wait.
  var text: String { Self.text(reason, remedy) }

  fileprivate static func text(_ reason: String, _ remedy: Remedy?) -> String {
    guard let remedy else { return reason }
    return reason + (remedy == .editRetryOrDiscard ? "; " : ": ") + remedy.hint
  }
}

extension Explanation.Link {
  /// The reason with the command that ends the wait.
  var text: String { Explanation.text(reason, remedy) }
}
