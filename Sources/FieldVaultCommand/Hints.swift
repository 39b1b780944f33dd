import VaultStore
import SyncEngine
import SyncModel

/// The hints of errors and findings: the only place that words a remedy in terms of commands and options.
extension Remedy {
  var hint: String {
    switch self {
    case .advice(let text): text
    case .createVault: "fieldvault init makes one"
    case .nameVaultFolder: "name the folder that fieldvault init made"
    case .migrate: "fieldvault migrate apply"
    case .changeHolderOrMigrate:
      "change the record that has the value, or apply newer schema files with 'fieldvault migrate apply'; then sync"
    case .showMigrations: "fieldvault migrate status"
    case .compareSchema: "fieldvault migrate verify"
    case .undoSchemaChanges: "'fieldvault migrate verify' shows each difference; undo it in 'fieldvault shell'"
    case .showEntities: "fieldvault query 'SELECT * FROM entities'"
    case .checkVault: "fieldvault doctor"
    case .checkDiskAndVault: "the old key still holds; check the disk, and run fieldvault doctor"
    case .endReadersAndCheckVault: "end what reads there for long, then run 'fieldvault doctor' again"
    case .checkVaultAgain: "run 'fieldvault doctor' again"
    case .repairVault: "fieldvault doctor --repair"
    case .repairVaultAsOwner: "fieldvault doctor --repair, as the owner of the vault"
    case .restoreOrSalvage:
      "restore a backup, or save what can be read into a new vault with 'fieldvault doctor --repair'"
    case .freeSpaceForRotation: "free some space before 'fieldvault key rotate'"
    case .correctRecord: "correct it with 'fieldvault put' or in 'fieldvault shell'"
    case .correctReference: "correct the reference with 'fieldvault put', or restore a backup"
    case .showRecords(let entity): "fieldvault list \(entity) shows those there are"
    case .showDeletedRecords(let entity):
      "fieldvault list \(entity) --deleted shows the deleted records that this vault has"
    case .restoreRecord(let entity, let uuid): "fieldvault undelete \(entity) \(uuid) restores it"
    case .restoreParent(let entity, let uuid): "undelete \(entity) \(uuid)"
    case .createWithoutUUID: "create a new record, without --uuid"
    case .mapColumns(let columns):
      "name them with --map FIELD=COLUMN; the file has \(columns.joined(separator: ", "))"
    case .mapColumn(let name, let fields):
      "name the field with --map FIELD=\(name); an import with --map leaves columns without a field out. "
        + "The fields are \(fields.joined(separator: ", "))"
    case .showAttachments: "fieldvault attach list shows those there are"
    case .verifyAttachments: "fieldvault attach verify"
    case .findRecordsOfFile: "fieldvault attach verify tells which records it belongs to"
    case .fetchAttachmentsAgain: "fieldvault attach verify --fetch, then fieldvault sync"
    case .chooseOtherPathOrReplace: "choose another name; --force replaces it"
    case .setRemoteAndSync:
      "set the server that has it with 'fieldvault remote set URL --token-file FILE', run 'fieldvault sync', then try again"
    case .leaveDeviceModeAndSync: "run 'fieldvault config set mode cloud' and 'fieldvault sync', then try again"
    case .syncRequestedFile: "it is asked for now: run 'fieldvault sync', then try again"
    case .sync: "fieldvault sync fetches it"
    case .syncFirst: "fieldvault sync, then try again"
    case .setRemote: "fieldvault remote set URL --token-file FILE"
    case .followProject(let entity, let uuid):
      "follow the \(entity) \(uuid) first: fieldvault config set projects"
    case .followAllProjects: "fieldvault config set projects all"
    case .followFewerProjects: "fieldvault config set projects all, or the uuids of some"
    case .showOutbox: "fieldvault outbox list shows those that do"
    case .showWholeOutbox: "fieldvault outbox list --all shows those there are"
    case .explainOperation: "fieldvault why tells what it waits for"
    case .editRetryOrDiscard: "edit the record, or use fieldvault outbox retry or discard"
    case .changeValueOrDiscard:
      "change the value; the operation is sent then. 'fieldvault outbox discard' gives the change up"
    case .resolveConflict: "fieldvault conflicts resolve"
    case .showConflicts: "fieldvault conflicts list"
    case .showAllConflicts: "fieldvault conflicts list --all shows those there are"
    case .giveValue(let field): "give a value: --set \(field)==VALUE"
    case .giveOtherValueOrTakeRemote(let field):
      "give another value: --take local --set \(field)==VALUE, or --take remote"
    case .moveOrTakeRemote(let field):
      "move the record: --take local --set \(field)==UUID, or let it go: --take remote"
    }
  }
}

extension SyncRefused {
  var hint: String {
    switch self {
    case .noRemote: Remedy.setRemote.hint
    case .deviceOnly: "fieldvault config set mode cloud"
    case .busy: "wait until it has finished"
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
