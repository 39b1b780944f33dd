import CipherSQL
import RecordStore
import SyncModel
import VaultStore

/// Statement 6 for the values themselves: equal versions have equal numbers and bytes on all devices. Digests cannot show a
/// value that its form on the wire changes, because they are computed from that form, which is all that the server stores.
struct ContentCheck {
  /// The device that the others are compared with.
  let first: any WatchedDevice
  let state: StateOfRecord

  /// - Throws: ``Violation``
  func check(_ device: any WatchedDevice, _ table: RecordTable) throws {
    // The first device may have another version of the schema.
    guard let known = first.vault.syncCatalog.tables[table.entity.type]?.places else { return }
    // The text of a JSON value may differ, and a reference has the local value of the referenced key.
    let columns = table.columns.filter { column in
      column.reference == nil && column.column.type != .json && !table.rules[column.name].isComputed
        && known[column.name] != nil
    }
    for column in columns {
      let name = column.name
      let theirs = Dictionary(
        try Self.values(of: name, table, first).map { ($0.0, ($0.1, $0.2)) }, uniquingKeysWith: { first, _ in first })
      for (uuid, version, value) in try Self.values(of: name, table, device) {
        guard let (otherVersion, other) = theirs[uuid], otherVersion == version, !Self.areEqual(other, value)
        else { continue }
        let type = table.entity.type
        throw Violation(
          6,
          [
            "\(device.name) and \(first.name) have version \(version) of \(type) \(uuid) with different values of \(name): "
              + "\(value) and \(other)"
          ] + (try state.lines(type, uuid)))
      }
    }
  }

  private static func values(
    of column: String, _ table: RecordTable, _ device: any WatchedDevice
  ) throws -> [(String, Int64, SQLArgument)] {
    try device.read { connection in
      try connection.fetchRows(
        """
        SELECT uuid, syncVersion, \(identifier: column) FROM \(identifier: table.entity.table.name)
        WHERE isDirty = 0 AND isDeleted = 0 ORDER BY uuid
        """, as: String.self, Int64.self, SQLArgument.self)
    }
  }

  /// A whole REAL equals its integer, as in the values of the wire.
  private static func areEqual(_ left: SQLArgument, _ right: SQLArgument) -> Bool {
    switch (left, right) {
    case (.integer(let integer), .real(let real)), (.real(let real), .integer(let integer)):
      Int64(exactly: real) == integer
    default: left == right
    }
  }
}
