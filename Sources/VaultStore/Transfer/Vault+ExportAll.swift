import CipherSQL
import Platform
import SyncModel

/// The records and files of an export or an import of a whole vault.
public struct TransferResult: Sendable, Hashable {
  /// An entity and the number of its records.
  public struct Count: Sendable, Hashable {
    /// The type of the entity, such as `Room`.
    public let entityType: String
    /// The number of records.
    public var records: Int
  }

  /// The entities with records.
  public var entities: [Count] = []
  /// The number of files, small pictures included.
  public var files = 0
  /// The number of attachments whose file is missing: not on this device, damaged, or not in the folder.
  public var missing = 0
  /// The number of records that the vault had already.
  public var present = 0

  /// The number of all records.
  public var records: Int { entities.reduce(0) { $0 + $1.records } }
}

extension Vault {
  /// Passes each record that is not deleted to a closure as a line of NDJSON, and writes the attached files decrypted. All records
  /// are of one moment. Memory use does not grow with the records and files.
  ///
  /// The lines have the names of the columns, the UUIDs of referenced records, and the keys of attached files.
  /// - Parameters:
  ///   - line: receives a line without its end, and the name of its file, such as `Room.ndjson`.
  ///   - path: returns the path for a new file with a name.
  /// - Throws: ``VaultError`` with `refused` for a value that JSON cannot represent, `noSpace` or `cannotWrite`; the errors of the
  ///   closures.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func exportAll(
    line: (_ text: String, _ file: String) throws -> Void, path: (_ file: String) throws -> String
  ) throws -> TransferResult {
    // No file is evicted during the export.
    let lock = try AttachmentLock(sharing: layout)
    defer { withExtendedLifetime(lock) {} }
    return try database.read { connection in
      var result = TransferResult()
      for entity in entities.all {
        let table = try TransferTable(entity, in: entities)
        let hasFiles = AttachmentEntity(entity) != nil
        var count = 0
        try table.forEach(in: connection) { object in
          try line(SyncValue.object(object).json, AccountExport.fileName(entity.type))
          count += 1
          if hasFiles { try exportFiles(of: object, connection, path, &result) }
          if count & 255 == 0 { try connection.throwIfCancelled() }
        }
        if count > 0 { result.entities.append(.init(entityType: entity.type, records: count)) }
      }
      return result
    }
  }

  private func exportFiles(
    of object: SyncObject, _ connection: Connection, _ path: (String) throws -> String, _ result: inout TransferResult
  ) throws {
    guard let names = AccountExport.FileNames(of: object) else { return }
    let content = try SealedContent.find(names.contentUuid, in: connection)
    for (variant, name) in [(AttachmentVariant.full, names.full), (.thumbnail, names.thumbnail)] {
      guard let content, content.presence[variant] == .here else {
        // A file need not have a small picture.
        if variant == .full { result.missing += 1 }
        continue
      }
      let target = try path(name)
      // Another record of the same content was exported before.
      if Files.exists(target) { continue }
      if try export(variant, of: content, to: target) {
        result.files += 1
      } else if variant == .full {
        result.missing += 1
      }
    }
  }

  /// - Returns: `false` if the file is damaged; nothing remains at the path then.
  private func export(_ variant: AttachmentVariant, of content: SealedContent, to path: String) throws -> Bool {
    let file = try OpenFile(creating: path)
    do {
      try AttachmentReader(content, variant, layout).forEachPart { try file.write($0) }
      try file.synchronize()
      return true
    } catch let error as VaultError where error.code == .damaged {
      try Files.removeTree(path)
      return false
    }
  }
}
