import HTTPClient
import VaultStore
import SyncModel

/// Finds the deleted record when an API returns 404 for the path of a new record.
struct RestDeletionCheck: Sendable {
  let client: RestClient
  let records: RestRecords

  /// Returns the field of the new record that references a deleted record, and that record's dependents; `nil` if all
  /// records of the path exist.
  func parent(of body: RestBody, _ path: PathTemplate) async throws -> (field: String, records: RemoteDeletions)? {
    let names = Set(path.placeholders.compactMap(\.first))
    var gone: (field: String, type: String, uuid: String)?
    // The nearest parent is the last one in the table. If the API can be asked, it tells which one is missing.
    for column in body.table.columns where names.contains(column.name) {
      guard let reference = column.reference, case .text(let uuid)? = body.fields[column.name] else { continue }
      if try await isGone(reference.entityType, uuid) { gone = (column.name, reference.entityType, uuid) }
    }
    guard let gone else { return nil }
    return (gone.field, try await family(of: gone.type, gone.uuid))
  }

  /// Returns a deleted record with its dependents.
  func family(of type: String, _ uuid: String) async throws(RemoteFailure) -> RemoteDeletions {
    let family = try await records.query { try $0.family(of: type, uuid) }.map { tombstone($0.type, $0.record) }
    return RemoteDeletions(root: family.first, followers: Array(family.dropFirst()))
  }

  /// Returns whether a parent is missing. A parent without a route to read it counts as existing, because too many
  /// records depend on it.
  private func isGone(_ type: String, _ uuid: String) async throws -> Bool {
    guard let routes = client.file.entities[type], let table = records.table(type), let call = routes.get,
      let record = try await records.record(type, uuid)
    else { return false }
    let body = RestBody(
      records: records, routes: routes, table: table, uuid: uuid, serverId: record.serverId, fields: record.state.fields
    )
    let response = try await client.ask(call.method, try await body.path(call.path))
    switch response {
    case .gone: return true
    case .done, .invalid: return false
    default: throw RestClient.failure(response) ?? .offline
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
