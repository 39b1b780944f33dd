import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// The file formats that ``importFile(_:into:format:plan:progress:)`` reads.
  public enum ImportFormat: String, Sendable, CaseIterable {
    case csv, ndjson, json
  }

  /// Creates or changes one record; see ``RecordWriter/put(_:_:uuid:)``.
  public func put(_ entity: Entity, _ fields: [(name: String, value: FieldInput)], uuid: UUID? = nil) throws -> UUID {
    try database.write { try RecordWriter($0, entities: entities).put(entity, fields, uuid: uuid) }
  }

  /// Creates or changes the records of a JSON document, in one transaction.
  /// - Returns: their UUIDs, and whether the document is an array.
  public func put(_ entity: Entity, json text: String, name: String) throws -> (uuids: [UUID], isArray: Bool) {
    try database.write { connection in
      let writer = RecordWriter(connection, entities: entities)
      var uuids: [UUID] = []
      let isArray = try JSONDocument.forEachObject(text, name: name, on: connection) { index, object in
        do {
          uuids.append(try writer.put(entity, try JSONFields(object: object, of: entity, on: connection).fields))
        } catch let error as VaultError {
          throw VaultError(
            error.code, "\(name): element \(index + 1): \(error.message)", remedy: error.remedy, name: error.name,
            candidates: error.candidates)
        }
      }
      return (uuids, isArray)
    }
  }

  /// Marks records and their dependents as deleted, in one transaction.
  /// - Returns: the number of marked records.
  public func delete(_ entity: Entity, _ uuids: [UUID]) throws -> Int {
    try database.write { connection in
      let writer = RecordWriter(connection, entities: entities)
      return try uuids.reduce(0) { try $0 + writer.delete(entity, $1) }
    }
  }

  /// Returns the number of records that ``delete(_:_:)`` would mark, dependents included.
  public func countDeletion(of entity: Entity, _ uuids: [UUID]) throws -> Int {
    try database.read { connection in
      let reader = RecordReader(connection)
      let keys = try uuids.map { try reader.requireLive(entity, $0) }
      let all = try Dependents(connection: connection, entities: entities).all(of: entity, Array(Set(keys)))
      return all.reduce(0) { $0 + $1.keys.count }
    }
  }

  /// Returns the UUIDs for which the vault has no row, not even a deleted one.
  public func absentRecords(_ entity: Entity, _ uuids: [UUID]) throws -> [UUID] {
    try database.read { connection in
      try uuids.filter { uuid in
        try connection.fetchOne(
          "SELECT 1 FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)", as: Int.self) == nil
      }
    }
  }

  /// Returns whether a deletion of these records, dependents included, marked records that no server has. The next
  /// sync removes their rows.
  public func hasUnsentDeletion(of entity: Entity, _ uuids: [UUID]) throws -> Bool {
    try database.read { connection in
      let keys = try uuids.flatMap { uuid in
        try connection.fetch(
          "SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)", as: Int64.self)
      }
      let all = try Dependents(connection: connection, entities: entities).all(of: entity, keys, onlyLive: false)
      return try all.contains { kind, keys in
        guard kind.sync != nil, kind.hasCommonFields else { return false }
        let list = "[" + keys.map(String.init).joined(separator: ",") + "]"
        return try connection.fetchOne(
          """
          SELECT 1 FROM \(identifier: kind.table.name)
          WHERE \(identifier: kind.key) IN (SELECT value FROM json_each(\(list))) AND isDeleted = 1 AND syncVersion = 0 LIMIT 1
          """, as: Int.self) != nil
      }
    }
  }

  /// Restores deleted records and the dependents that were deleted with them, in one transaction.
  ///
  /// `SyncWorker.undelete(_:_:)` also restores records whose rows sync has removed.
  /// - Throws: the errors of `RecordWriter.undelete`.
  public func undelete(_ entity: Entity, _ uuids: [UUID]) throws -> Restoration {
    try database.write { try RecordWriter($0, entities: entities).undelete(entity, uuids) }
  }

  /// Removes the rows of deleted records and the files of their attachments, in one transaction.
  /// - Returns: the number of removed records; see ``RecordWriter/purge(_:_:)``.
  public func purge(_ entity: Entity, _ uuids: [UUID]) throws -> Int {
    let count = try database.write { connection in
      let writer = RecordWriter(connection, entities: entities)
      return try uuids.reduce(0) { try $0 + writer.purge(entity, $1) }
    }
    sweepIfPossible()
    return count
  }

  /// Imports the rows of a file as records in one transaction.
  /// - Throws: ``ImportRefused`` with the refused lines; ``VaultError``.
  public func importFile(
    _ source: ByteSource, into entity: Entity, format: ImportFormat, plan: ImportPlan,
    progress: @escaping (_ bytes: Int, _ rows: Int) -> Void = { _, _ in }
  ) throws -> ImportResult {
    try database.write { connection in
      let importer = Importer(
        connection: connection, entities: entities, entity: entity, plan: plan, progress: progress)
      return try WriteMode.queueingAtOnce(entity, in: entities, on: connection) {
        switch format {
        case .csv: try importer.importCSV(source)
        case .ndjson: try importer.importNDJSON(source)
        case .json: try importer.importJSON(source)
        }
      }
    }
  }
}
