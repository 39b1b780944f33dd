import SyncModel

/// The versions of a conflict side by side, for the user who decides it.
package struct ConflictVersions: Sendable {
  package let base: SyncObject?
  package let local: SyncObject
  package let remote: SyncObject?
  /// The fields that are not the same everywhere, and those to decide.
  package let names: [String]
  /// The number of fields that are the same everywhere.
  package let same: Int

  /// - Parameter order: the fields of the record, in the order of its table.
  /// - Throws: an error for a stored version that is not JSON.
  package init(_ entry: ConflictEntry, order: [String]) throws {
    let base = try entry.base.map { try Self.object($0) }
    let local = try Self.object(entry.localVersion)
    let remote = try entry.remoteVersion.map { try Self.object($0) }
    let known = order.filter { local[$0] != nil || remote?[$0] != nil }
    names = known.filter { name in
      let values = [base, local, remote].compactMap { $0?[name] }
      return entry.fields.contains(name) || values.contains { $0 != values.first }
    }
    same = known.count - names.count
    (self.base, self.local, self.remote) = (base, local, remote)
  }

  private static func object(_ json: String) throws -> SyncObject {
    guard case .object(let object) = try SyncValue(parsing: json) else { return SyncObject() }
    return object
  }

  /// Returns the kind of a conflict as a sentence.
  package static func explanation(of kind: String) -> String {
    switch kind {
    case "concurrent_edit": "Changed here and on the server."
    case "deleted_remotely": "Changed here; the record or its parent was deleted on the server."
    case "deleted_locally": "Deleted here; changed or still referenced on the server."
    case "not_unique": "Another record on the server has the same unique value."
    case "parent_missing": "The record refers to a record that is not on the server."
    default: kind.replacing("_", with: " ")
    }
  }
}
