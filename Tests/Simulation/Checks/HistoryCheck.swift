import CipherSQL
import SchemaModel
import SyncModel

/// Statements 3 and 4 at the server: each operation takes effect once, and no record is stored before the records
/// that it references.
struct HistoryCheck {
  let history: [ServerStore.Version]
  let connection: Connection
  /// The entities of the server.
  let entities: Entities
  let store: ServerStore
  /// The sent operations.
  let operations: [String: PushOperation]
  /// Records that a person of some device deleted, brought back or gave up.
  let handled: Set<String>
  /// Records that may have been sent more than once, from copies and after restores, or by the decision of a person.
  let resent: Set<String>
  /// Records that the server has stored in other data, which are gone.
  let misplaced: Set<String>
  /// The keys of operations that referenced a record that their user did not see.
  let referringToHidden: Set<String>

  func check() throws {
    try checkMarkers()
    try checkVersions()
    try checkReferences()
  }

  /// A value that was overwritten does not come back: each write has a value of its own, so only a write that counts twice
  /// could bring it.
  private func checkMarkers() throws {
    var current: [String: String?] = [:]
    var seen: [String: Set<String>] = [:]
    var forgotten: Set<String> = []
    for version in history where !resent.contains(version.uuid) {
      // A device that was away sends its own version of a record whose deletion the server has forgotten as a create.
      let isNew = forgotten.remove(version.uuid) != nil
      if version.isForgotten, version.isDeleted { forgotten.insert(version.uuid) }
      if isNew {
        current[version.uuid] = version.marker
        if let marker = version.marker { seen[version.uuid, default: []].insert(marker) }
        continue
      }
      if let before = current[version.uuid], before == version.marker { continue }
      current[version.uuid] = version.marker
      guard let marker = version.marker else { continue }
      guard seen[version.uuid, default: []].insert(marker).inserted else {
        throw Violation(
          3,
          ["\(version.entity) \(version.uuid): \(marker) came back with version \(version.version)"]
            + lines(of: version.uuid))
      }
    }
  }

  /// Versions grow, and each version with another marker has its own operation. Deletions are left out,
  /// because another record may have caused them.
  private func checkVersions() throws {
    var acknowledged = try acknowledgements()
    var last: [String: ServerStore.Version] = [:]
    for version in history {
      let before = last[version.uuid]
      // A transaction that changes a record several times stores the last version only. A new record begins above all
      // versions of forgotten records, which may be those of other records.
      let isForgotten = before.map { $0.isForgotten && $0.isDeleted } ?? false
      guard version.version > before?.version ?? 0 || isForgotten else {
        throw Violation(
          3, ["\(version.entity) \(version.uuid): versions do not follow each other"] + lines(of: version.uuid))
      }
      last[version.uuid] = version
      // A return, or a reference that the deletion of another record has cleared.
      let isOfOther = before.map { $0.marker == version.marker } ?? false
      if version.isDeleted || isOfOther { continue }
      let first = isForgotten ? version.version : min(version.version, (before?.version ?? 0) + 1)
      let versions = (first...version.version).reversed()
      // Server ids are unique within an entity only.
      let names = versions.map { "\(version.uuid) \($0)" } + versions.map { "\(version.serverId) \($0)" }
      guard let name = names.first(where: { acknowledged[$0, default: 0] > 0 }) else {
        throw Violation(
          3,
          ["\(version.entity) \(version.uuid): no acknowledged operation stored version \(version.version)"]
            + lines(of: version.uuid))
      }
      acknowledged[name, default: 0] -= 1
    }
  }

  /// The number of acknowledged operations by the record and its version. Of an operation that the network does not know, only the
  /// server id of its record is known.
  private func acknowledgements() throws -> [String: Int] {
    var acknowledged: [String: Int] = [:]
    let responses = try store.responses(in: connection)
    let known = Set(responses.filter { !$0.isForgotten }.map(\.key))
    for (key, text, isForgotten) in responses {
      // An operation may be executed twice only if the server has forgotten the first response.
      if isForgotten, known.contains(key), !resent.contains(operations[key]?.entityUuid ?? "") { continue }
      let response = try SyncValue(parsing: text)
      guard case .object(let object) = response, case .integer(let version)? = object["version"],
        case .integer(let id)? = object["serverId"]
      else { continue }
      let record = operations[key]?.entityUuid ?? "\(id)"
      acknowledged["\(record) \(version)", default: 0] += 1
    }
    return acknowledged
  }

  private func checkReferences() throws {
    let refused = try connection.fetchRows(
      "SELECT idempotencyKey, answer FROM ServerAnswer WHERE answer LIKE '%parent_missing%'", as: String.self,
      String.self)
    let known = Set(history.map(\.uuid))
    // The first create of each record. The ids of operations are ordered by their time.
    var creates: [String: String] = [:]
    for operation in operations.values where operation.kind == .create {
      creates[operation.entityUuid] = min(creates[operation.entityUuid] ?? operation.operationId, operation.operationId)
    }
    for (key, response) in refused {
      guard let operation = operations[key], !referringToHidden.contains(key),
        case .conflict(.parentMissing, let fields, _, _) = try PushResult(wire: SyncValue(parsing: response)).outcome
      else { continue }
      // A parent that a person deleted or gave up before the server had it does not come, or comes when it is brought
      // back. Any other that came later, the child should have waited for.
      for member in operation.patch.fields.members {
        guard case .text(let parent) = member.value, known.contains(parent), !isHandled(parent),
          fields.contains(member.name)
        else { continue }
        // A request from before a restore may reach the restored server, before the parent that it has lost is sent again.
        if resent.contains(operation.entityUuid), resent.contains(parent) { continue }
        if misplaced.contains(parent) { continue }
        // The create was made later, when a user restored a parent that had been deleted with its own parent.
        if let create = creates[parent], create > operation.operationId { continue }
        throw Violation(
          4,
          ["\(operation.entityType) \(operation.entityUuid) came before its \(member.name) \(parent)"]
            + lines(of: parent))
      }
    }
    let broken = try connection.fetch("SELECT \"table\" || ' ' || rowid FROM pragma_foreign_key_check", as: String.self)
    guard broken.isEmpty else { throw Violation(4, broken.map { "the server has a reference to nothing: \($0)" }) }
  }

  /// The senders of the versions that the server stored as they were sent, by "UUID version".
  func acceptedVersions(from senders: [String: String]) throws -> [String: String] {
    var versions: [String: String] = [:]
    for (key, text, _) in try store.responses(in: connection) {
      guard let operation = operations[key],
        case .accepted(let version, _, _) = try PushResult(wire: SyncValue(parsing: text)).outcome
      else { continue }
      versions["\(operation.entityUuid) \(version)"] = senders[key]
    }
    return versions
  }

  /// Whether a person had their hand in the record, or in one that it hangs on.
  func isHandled(_ uuid: String) -> Bool { isHandled(uuid, by: handled) }

  /// Whether a set has the record, or one that it references.
  func isHandled(_ uuid: String, by handled: Set<String>) -> Bool {
    var open = [uuid]
    var seen: Set<String> = []
    while let next = open.popLast() {
      guard seen.insert(next).inserted else { continue }
      if handled.contains(next) { return true }
      let own = operations.values.filter { $0.entityUuid == next }
      // A record that was never sent and is referenced was given up by its user, perhaps with a record that it references.
      if own.isEmpty, !history.contains(where: { $0.uuid == next }) { return true }
      for operation in own {
        for case .text(let value) in operation.patch.fields.members.map(\.value) where value.utf8.count == 36 {
          open.append(value)
        }
      }
      open += parentsByValue(of: next)
    }
    return false
  }

  /// The records that had the values by which a record referenced others with foreign keys of several columns.
  private func parentsByValue(of uuid: String) -> [String] {
    let own = operations.values.filter { $0.entityUuid == uuid }
    guard let type = own.first?.entityType, let entity = entities.all.first(where: { $0.type == type }) else {
      return []
    }
    func values(_ operations: [PushOperation], _ column: String) -> Set<String> {
      Set(operations.compactMap { $0.patch.fields[column]?.json })
    }
    return entities.references(of: entity).filter { $0.columns.count > 1 }.flatMap { key in
      Dictionary(grouping: operations.values.filter { $0.entityType == key.parent.type }, by: \.entityUuid).filter {
        _, other in
        key.key.columns.allSatisfy { !values(own, $0.from).isDisjoint(with: values(other, $0.to)) }
      }.keys
    }
  }

  func lines(of uuid: String) -> [String] {
    history.filter { $0.uuid == uuid }.map {
      "server: version \($0.version) \($0.isDeleted ? "deleted " : "")\($0.marker ?? "NULL")"
    }
  }
}
