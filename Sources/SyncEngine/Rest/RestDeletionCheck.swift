import OfflineStore
import SyncModel

/// Finds out what is gone when an API says that the path of a new record leads nowhere.
struct RestDeletionCheck: Sendable {
  let client: RestClient
  let records: RestRecords

  /// The field of a new record that refers to what is gone, and what hung on that; nil when all that the path names is there.
  func parent(of body: RestBody, _ path: PathTemplate) async throws -> (field: String, records: RemoteDeletions)? {
    let names = Set(path.placeholders.compactMap(\.first))
    var gone: (field: String, type: String, uuid: String)?
    // The nearest parent is the last in a table; where the API can be asked, it says which one it is.
    for column in body.table.columns where names.contains(column.name) {
      guard let reference = column.reference, case .text(let uuid)? = body.fields[column.name] else { continue }
      if try await isGone(reference.entityType, uuid) { gone = (column.name, reference.entityType, uuid) }
    }
    guard let gone else { return nil }
    return (gone.field, try await family(of: gone.type, gone.uuid))
  }

  /// A record that is gone, with what hung on it.
  func family(of type: String, _ uuid: String) async throws(RemoteFailure) -> RemoteDeletions {
    let family = try await records.family(of: type, uuid).map { tombstone($0.type, $0.record) }
    return RemoteDeletions(root: family.first, followers: Array(family.dropFirst()))
  }

  /// Whether a parent is gone. One that the API cannot be asked about counts as there: too much hangs on it.
  private func isGone(_ type: String, _ uuid: String) async throws -> Bool {
    guard let routes = client.file.entities[type], let table = records.table(type), let call = routes.get,
      let record = try await records.record(type, uuid)
    else { return false }
    let body = RestBody(
      records: records, routes: routes, table: table, uuid: uuid, serverId: record.serverId, fields: record.state.fields
    )
    let answer = try await client.ask(call.method, try await body.path(call.path))
    switch answer {
    case .gone: return true
    case .done, .invalid: return false
    default: throw RestClient.failure(answer) ?? .offline
    }
  }

  private func tombstone(_ type: String, _ record: StoredRecord) -> RemoteRecord {
    var state = record.state
    state.isDeleted = true
    state.syncVersion += 1
    state.updatedAt = client.serverTime
    return RemoteRecord(
      entityType: type, entityUuid: record.uuid, serverId: record.serverId, createdAt: record.createdAt, state: state)
  }
}
