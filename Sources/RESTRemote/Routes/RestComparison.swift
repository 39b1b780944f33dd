import CipherSQL
import VaultStore
import SyncModel
import HTTPClient

/// Compares the records of a list with those of the vault. A new or different record is a change.
struct RestComparison: Sendable {
  let client: RestClient
  let records: RestRecords
  let type: String

  struct Result: Sendable {
    var changes: [RemoteRecord] = []
    /// Records of the vault that the list lacks.
    var absent: [StoredRecord] = []
    /// The UUID here and the record of the list, for the lists below it.
    var items: [(uuid: String, value: SyncValue)] = []
    /// The problem of a list that could not be read completely, for the user.
    var problem: String?
    /// Whether all records could be identified. Otherwise a missing record proves nothing.
    var isWhole = true
  }

  /// - Parameters:
  ///   - isWhole: whether a record that the list lacks was deleted.
  ///   - parents: for a list within records of another entity, that entity and the UUIDs of the records with such a
  ///     list, including an empty one.
  func compare(
    _ items: [RestItem], isWhole: Bool, within parents: (type: String, uuids: Set<String>)?
  ) async throws(RemoteFailure) -> Result {
    var result = Result()
    guard let table = records.table(type), let routes = client.file.entities[type] else { return result }
    let known = try await records.known(type)
    let restored = try await records.restored(type)
    // A record that is new here may come from a create whose response was lost. The repetition of the create finds
    // it, and the next list includes it.
    let waits = routes.create == nil ? false : try await records.query { try $0.hasUnacknowledgedCreations(type) }
    let identities = try await identities(of: type, known, restored)
    let references = try await references(of: table, routes)
    var nameless = try await records.unnamed(type)
    var seen: Set<ServerId> = []
    for item in items {
      guard let id = RestItem.id(of: item.value, at: routes.id, isOnly: item.isOnly, table) else {
        result.problem = "a record has no id at '\(routes.id)' that fits \(type).serverId"
        result.isWhole = false
        continue
      }
      seen.insert(id)
      // The API has a restored record after all: another program has moved it before it deleted the parent.
      let isRestored = known[id] == nil && restored[id] != nil
      var old = known[id] ?? restored[id]
      if known[id] == nil, waits {
        result.problem = "new records are held back until it is known whether this device created them; see the outbox"
        continue
      }
      var fields: SyncObject
      do throws(Unreadable) {
        fields = try self.fields(of: item, table, routes, references)
      } catch {
        result.problem = "record \(id): \(error.message)"
        // An object without any field of the entity may be an error of the API.
        if item.isOnly { result.isWhole = false }
        // The lists within the record are read on their own.
        if let old { result.items.append((old.uuid, item.value)) }
        continue
      }
      if old == nil, let place = nameless.firstIndex(where: { $0.state.hasAll(fields) }) {
        old = nameless.remove(at: place)
      }
      let uuid = old?.uuid ?? identities.uuid(id)
      result.items.append((uuid, item.value))
      if let old {
        if old.serverId != nil, !old.state.isDeleted, !isRestored, old.state.hasAll(fields) { continue }
        // Fields that the list lacks keep their values.
        fields = old.state.fields.overlaid(with: fields)
      }
      result.changes.append(remote(uuid, id, fields, after: old))
    }
    // A single record without an id is that record. If no id can be stored, no id of a new record can either.
    if !seen.isEmpty {
      client.note(unfitId: nil, of: table, at: routes.id)
    } else if let value = items.lazy.compactMap({ routes.id.value(in: $0.value) }).first {
      client.note(unfitId: value, of: table, at: routes.id)
    }
    guard isWhole, result.isWhole else { return result }
    result.absent = known.filter { !seen.contains($0.key) && !$0.value.state.isDeleted }.map(\.value)
    if let parents { result.absent.removeAll { !Self.hangs($0, on: parents, table) } }
    return result
  }

  /// Returns whether a record references one of the listed parents. A nested record counts as deleted only if its
  /// parent was listed without it.
  private static func hangs(
    _ record: StoredRecord, on parents: (type: String, uuids: Set<String>), _ table: RecordTable
  ) -> Bool {
    table.columns.contains { column in
      guard column.reference?.entityType == parents.type, case .text(let uuid)? = record.state.fields[column.name]
      else {
        return false
      }
      return parents.uuids.contains(uuid)
    }
  }

  private func remote(
    _ uuid: String, _ id: ServerId, _ fields: SyncObject, after old: StoredRecord?
  ) -> RemoteRecord {
    let now = client.serverTime
    return RemoteRecord(
      entityType: type, entityUuid: uuid, serverId: id, createdAt: old?.createdAt ?? now,
      state: RecordState(
        fields: fields, syncVersion: (old?.state.syncVersion ?? 0) + 1, updatedAt: now))
  }

  // MARK: Values

  private struct Unreadable: Error { let message: String }

  private func identities(
    of type: String, _ known: [ServerId: StoredRecord], _ restored: [ServerId: StoredRecord]
  ) async throws(RemoteFailure) -> RestIdentities {
    RestIdentities(
      remote: client.identity, type: type,
      known: known.merging(restored) { known, _ in known }.mapValues(\.uuid),
      uncreated: try await records.uncreated(type))
  }

  /// Returns the identities of each referenced entity.
  private func references(
    of table: RecordTable, _ routes: EntityRoutes
  ) async throws(RemoteFailure) -> [String: RestIdentities] {
    var found: [String: RestIdentities] = [:]
    for name in routes.sentFields(of: table).keys.sorted() {
      guard let type = table.columns.first(where: { $0.name == name })?.reference?.entityType, found[type] == nil else {
        continue
      }
      found[type] = try await identities(of: type, try await records.known(type), try await records.restored(type))
    }
    return found
  }

  private func fields(
    of item: RestItem, _ table: RecordTable, _ routes: EntityRoutes, _ references: [String: RestIdentities]
  ) throws(Unreadable) -> SyncObject {
    let places = routes.sentFields(of: table)
    var fields = SyncObject()
    for column in table.columns {
      if let parent = item.parent, column.reference?.entityType == parent.type {
        fields[column.name] = .text(parent.uuid)
        continue
      }
      guard let place = places[column.name], let there = place.value(in: item.value) else { continue }
      if let reference = column.reference {
        guard there != .null else {
          fields[column.name] = .null
          continue
        }
        guard let id = records.table(reference.entityType).flatMap({ RestRecords.id(there, of: $0) }),
          let identities = references[reference.entityType]
        else { throw Unreadable(message: "\(place) is not an id") }
        fields[column.name] = .text(identities.uuid(id))
        continue
      }
      let value = RestValue.value(there, for: column)
      do throws(FieldProblem) {
        _ = try column.argument(value)
      } catch {
        throw Unreadable(message: "\(place) \(error.message)")
      }
      if value == .null, column.column.isNotNull { continue }
      fields[column.name] = value
    }
    guard !fields.isEmpty else { throw Unreadable(message: "the record has none of the fields") }
    return fields
  }
}

extension RecordState {
  /// Whether each of some fields has the same value here.
  fileprivate func hasAll(_ fields: SyncObject) -> Bool {
    fields.members.allSatisfy { self.fields[$0.name] == $0.value }
  }
}
