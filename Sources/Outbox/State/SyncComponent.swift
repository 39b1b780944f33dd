import CipherSQL
import RecordStore

/// A type with one responsibility within a sync transaction.
protocol SyncComponent {
  var sync: SyncTransaction { get }
}

extension SyncComponent {
  var catalog: SyncCatalog { sync.catalog }
  var connection: WriteConnection { sync.connection }
  var now: Int64 { sync.now }
  var serverNow: Int64 { sync.serverNow }
  var clockOffset: Int64 { sync.clockOffset }
  var inbox: InboxState { sync.inbox }
  var outbox: Outbox { sync.outbox }
  var changes: RemoteChanges { sync.changes }
  var conflicts: ConflictStore { sync.conflicts }
  var resolver: ConflictResolver { sync.resolver }
}
