import Platform
import SyncModel

/// A folder with a file of NDJSON for each entity, and a folder of decrypted files.
struct TransferFolder {
  let folder: String
  /// The entities with a file, referenced ones first.
  let entities: [Entity]

  /// - Throws: ``VaultError`` with `noSuchEntity` for a file of an unknown entity, with `unreadable` for a folder without records;
  ///   `FileError` for a folder that cannot be read.
  init(_ folder: String, _ entities: Entities) throws {
    self.folder = folder
    let known = Dictionary(entities.all.map { (AccountExport.fileName($0.type), $0) }) { first, _ in first }
    var found: [Entity] = []
    for name in try Files.names(in: folder) where name.hasSuffix(".ndjson") {
      guard let entity = known[name] else {
        throw VaultError(
          .noSuchEntity, "\(folder)/\(name): the vault has no entity of this name",
          hint:
            "use a vault with the same schemas; its entities are \(entities.all.map(\.type).joined(separator: ", "))",
          name: String(name.dropLast(7)), candidates: entities.all.map(\.type))
      }
      found.append(entity)
    }
    guard !found.isEmpty else {
      throw VaultError(
        .unreadable, "\(folder) contains no file of records", hint: "give a folder with files such as Room.ndjson")
    }
    self.entities = entities.referencedFirst(found)
  }

  /// Returns the path of a decrypted file.
  func path(ofFile name: String) -> String { "\(folder)/files/\(name)" }

  /// Calls a closure with each record of an entity.
  /// - Parameter progress: receives the bytes that were read since the last call. It may throw to cancel.
  /// - Throws: ``VaultError`` that names file and line.
  func forEachRecord(
    of entity: Entity, _ progress: (Int) throws -> Void = { _ in }, _ body: (SyncObject) throws -> Void
  ) throws {
    let path = "\(folder)/\(AccountExport.fileName(entity.type))"
    let source = try ByteSource(path: path)
    let reader = LineReader(source)
    var reported = 0
    while let line = try reader.next() {
      if !line.isEmpty {
        do {
          try body(try Self.object(line))
        } catch let error as VaultError where [.badValue, .refused, .noSuchField].contains(error.code) {
          throw VaultError(
            error.code, "\(path):\(reader.line): \(error.message)", remedy: error.remedy, name: error.name,
            candidates: error.candidates)
        }
      }
      if source.position > reported {
        try progress(source.position - reported)
        reported = source.position
      }
    }
  }

  private static func object(_ line: ArraySlice<UInt8>) throws(VaultError) -> SyncObject {
    do throws(SyncModelError) {
      if case .object(let object) = try SyncValue(parsing: Array(line)) { return object }
    } catch {
      throw VaultError(.badValue, "not a JSON object: \(error)", hint: "write one object on each line")
    }
    throw VaultError(.badValue, "not a JSON object", hint: "write one object on each line")
  }
}
