import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The server's versions of records that the user restores and whose rows sync has removed.
package struct FetchedRecords: Sendable {
  /// The account that the versions belong to.
  package let account: AccountInfo
  /// The requested records that the server has.
  package let records: [RemoteRecord]
  /// The referenced records that the vault lacks. Each wave is referenced by the wave before.
  package let parents: [[RemoteRecord]]

  package init(account: AccountInfo, records: [RemoteRecord], parents: [[RemoteRecord]]) {
    (self.account, self.records, self.parents) = (account, records, parents)
  }
}

/// Restores records whose rows sync has removed.
extension SyncTransaction {
  /// Restores deleted records, in one transaction: those in the vault, and those whose versions the server has sent.
  ///
  /// A record that is no longer deleted on the server is stored unchanged.
  /// - Parameter fetched: the server's versions of the records that are not in the vault.
  /// - Throws: ``VaultError`` with `noSuchRecord` for a record that the server does not have either; with `refused`
  ///   if ``RecordWriter/undelete(_:_:)`` refuses it, for a record of a project that the device does not follow, and
  ///   for versions of another server or account.
  package func undelete(_ table: RecordTable, _ uuids: [UUID], from fetched: FetchedRecords) throws -> Restoration {
    try requireHistory(of: fetched.account)
    let absent = try uuids.filter { try !table.has($0.sqlText, in: connection) }
    let versions = Dictionary(fetched.records.map { ($0.entityUuid, $0) }, uniquingKeysWith: { first, _ in first })
    if let forgotten = absent.first(where: { versions[$0.sqlText] == nil }) {
      throw Self.forgotten(forgotten, of: table.entity)
    }
    var counts = ApplyCounts()
    changes.inbox.isRestoring = true
    defer { changes.inbox.isRestoring = false }
    for wave in fetched.parents.reversed() { try changes.apply(wave, counts: &counts) }
    try changes.apply(fetched.records, counts: &counts)
    let writer = RecordWriter(connection, entities: catalog.entities)
    var result = Restoration()
    for uuid in uuids {
      guard let record = try table.find(uuid.sqlText, in: connection) else {
        throw try refusal(of: uuid, versions[uuid.sqlText], table)
      }
      let isFetched = absent.contains(uuid)
      if isFetched { try follow(record, table) }
      if isFetched, !record.state.isDeleted {
        // Another device has restored it.
        result += Restoration(restored: 1, dependentsFollow: !catalog.entities.dependents(of: table.entity).isEmpty)
      } else {
        let isDependent = isFetched && versions[uuid.sqlText]?.deletedWith != nil
        result += try asUser { try writer.restore(table.entity, uuid, isDependent: isDependent) }
      }
      if isFetched { result.fetched += 1 }
    }
    return result
  }

  /// Checks that versions of a server can be stored before a round has compared the records.
  /// - Throws: ``VaultError`` with `refused` for another server, account or epoch, and for a server with an older schema.
  package func requireHistory(of account: AccountInfo) throws {
    if let problem = try problem(with: account) { throw VaultError(.refused, problem.message, remedy: problem.remedy) }
  }

  private static func forgotten(_ uuid: UUID, of entity: Entity) -> VaultError {
    VaultError(
      .noSuchRecord, "neither this vault nor its server has the \(entity.type) \(uuid.sqlText)",
      hint:
        "the server keeps deletions for 90 days by default; restore an older backup and export the record"
    )
  }

  // MARK: Refusals

  /// Returns the error for a version of the server that could not be stored.
  private func refusal(of uuid: UUID, _ remote: RemoteRecord?, _ table: RecordTable) throws -> VaultError {
    let type = table.entity.type
    guard let remote else { return Self.forgotten(uuid, of: table.entity) }
    for column in table.references {
      guard let parent = column.reference, case .text(let uuid)? = remote.state.fields[column.name],
        try catalog.tables[parent.entityType]?.has(uuid, in: connection) != true
      else { continue }
      return VaultError(
        .refused, "the \(parent.entityType) referenced by \(column.name) of this \(type) cannot be stored",
        remedy: .restoreParent(entity: parent.entityType, uuid: uuid))
    }
    if let refusal = try table.refusal(of: remote.state.fields, besides: remote.entityUuid, in: connection) {
      return refusal
    }
    let detail = try connection.fetchOne(
      "SELECT detail FROM SyncInbox WHERE entityType = \(type) AND entityUuid = \(remote.entityUuid)", as: String.self)
    return VaultError(.refused, "this \(type) cannot be stored: \(detail ?? "its version is older than the vault's")")
  }

  // MARK: Projects

  /// Checks that the device follows the project of a record. A device that follows the active projects starts to
  /// follow the restored project if it is active, so that the next sync fetches its dependents.
  private func follow(_ record: StoredRecord, _ table: RecordTable) throws {
    let scopes = try SyncSettings.scopes(in: connection)
    guard !scopes.isEmpty, let project = try project(of: record, table), !scopes.contains(project) else { return }
    let type = table.entity.type
    guard try SyncSettings.value(.activeProjects, in: connection) != nil else {
      throw VaultError(
        .refused, "this \(type) belongs to a \(Self.scopeEntity) that this device does not follow",
        remedy: .followProject(entity: Self.scopeEntity, uuid: project))
    }
    let (column, value) = Self.activeStatus
    guard type == Self.scopeEntity, record.state.fields[column] == value else {
      throw VaultError(
        .refused,
        "this \(type) \(type == Self.scopeEntity ? "is" : "belongs to") a \(Self.scopeEntity) that is not active, and this device follows the active ones",
        remedy: .followAllProjects)
    }
    try connection.execute("INSERT INTO SyncScope (entityUuid) VALUES (\(project))")
  }

  private func project(of record: StoredRecord, _ table: RecordTable) throws -> String? {
    let paths = ProjectPaths(catalog.tables)
    var above: [String: RecordState] = [record.uuid: record.state]
    return try paths.project(of: table.entity.type, record.uuid) { type, uuid in
      let known = try above[uuid] ?? catalog.tables[type]?.find(uuid, in: connection)?.state
      above[uuid] = known
      return known.map { state in (paths.references[type] ?? []).map { state.fields.text($0.column) } }
    }
  }
}

/// The result of an undeletion.
public struct Restoration: Equatable, Sendable {
  /// The number of records that were restored on this device, dependents included.
  public var restored: Int
  /// The number of these records that were fetched from the server, because sync had removed their rows.
  public var fetched: Int
  /// Whether the server restores the dependents, because it has the deletion. The next sync fetches them.
  public var dependentsFollow: Bool

  /// Creates a result; without arguments, that of no record.
  public init(restored: Int = 0, fetched: Int = 0, dependentsFollow: Bool = false) {
    (self.restored, self.fetched, self.dependentsFollow) = (restored, fetched, dependentsFollow)
  }

  static func += (left: inout Restoration, right: Restoration) {
    left.restored += right.restored
    left.fetched += right.fetched
    left.dependentsFollow = left.dependentsFollow || right.dependentsFollow
  }
}
