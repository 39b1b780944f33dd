// The one import of an app: the vault, typed SQL, keys, sync and its transport. It re-exports Foundation, because
// records have values of its types `UUID` and `Date`.
@_exported import CipherSQL
@_exported import FileTransfers
@_exported import Foundation
@_exported import VaultStore
@_exported import RESTRemote
@_exported import SyncEngine
@_exported import SyncModel
@_exported import VaultKeys
@_exported import HTTPClient
