import CipherSQL
import Platform
import SealedFiles
import SyncModel

extension Vault {
  /// Imports a folder with a file of NDJSON for each entity and the folder `files`, as an export of a vault or of an account has
  /// it, in one transaction. Records keep their UUIDs and times, and are sent to the server as new ones. Memory use does not grow with
  /// the records and files.
  ///
  /// A record that the vault has with equal values is left alone, and an unchanged seed row gets the values of the folder.
  /// - Parameter progress: receives the bytes of records that were read since the last call. It may throw to cancel.
  /// - Throws: ``VaultError`` with `refused` if the vault has another version of a record, with `badValue`, `noSuchField` or
  ///   `noSuchEntity`; each names file and line. Nothing is imported then.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func importAll(from folder: String, progress: (_ bytes: Int) throws -> Void = { _ in }) throws
    -> TransferResult
  {
    let source = try TransferFolder(folder, entities)
    let result: TransferResult
    do {
      result = try importAll(source, progress)
    } catch {
      // Files of a rolled-back transaction belong to no record. The original failure counts.
      sweepIfPossible()
      throw error
    }
    evictIfPossible()
    return result
  }

  private func importAll(_ source: TransferFolder, _ progress: (Int) throws -> Void) throws -> TransferResult {
    let lock = try AttachmentLock(sharing: layout)
    defer { withExtendedLifetime(lock) {} }
    // Encrypting takes time, so it precedes the transaction.
    try forEachFile(of: source) { names, object in
      try progress(0)
      try stage(names, object, from: source)
    }
    return try database.write { connection in
      var result = TransferResult()
      var partial: [Entity] = []
      for entity in source.entities {
        if try add(entity, of: source, connection, progress, &result) { partial.append(entity) }
      }
      for entity in partial { try complete(entity, of: source, connection) }
      try forEachFile(of: source) { names, _ in try place(names, connection, &result) }
      return result
    }
  }

  // MARK: Records

  /// - Returns: whether records lack references to records that follow in the folder.
  private func add(
    _ entity: Entity, of source: TransferFolder, _ connection: WriteConnection, _ progress: (Int) throws -> Void,
    _ result: inout TransferResult
  ) throws -> Bool {
    let intake = RecordIntake(connection: connection, table: try TransferTable(entity, in: entities))
    var (added, present, read) = (0, 0, 0)
    var isPartial = false
    try WriteMode.queueingAtOnce(entity, in: entities, on: connection) {
      try source.forEachRecord(of: entity, progress) { object in
        switch try intake.add(object) {
        case .added, .changedSeed: added += 1
        case .addedInPart: (added, isPartial) = (added + 1, true)
        case .present: present += 1
        }
        read += 1
        if read & 255 == 0 { try connection.throwIfCancelled() }
      }
    }
    if added > 0 { result.entities.append(.init(entityType: entity.type, records: added)) }
    result.present += present
    return isPartial
  }

  /// The operations of the records are queued already and send the records as they are later.
  private func complete(_ entity: Entity, of source: TransferFolder, _ connection: WriteConnection) throws {
    let intake = RecordIntake(connection: connection, table: try TransferTable(entity, in: entities))
    try WriteMode.sync(on: connection) {
      try source.forEachRecord(of: entity) { object in try intake.complete(object) }
    }
  }

  // MARK: Files

  /// Calls a closure for each record with a content that may have a file in the folder.
  private func forEachFile(
    of source: TransferFolder, _ body: (AccountExport.FileNames, SyncObject) throws -> Void
  ) throws {
    for entity in source.entities where AttachmentEntity(entity) != nil {
      try source.forEachRecord(of: entity) { object in
        if let names = AccountExport.FileNames(of: object) { try body(names, object) }
      }
    }
  }

  /// Encrypts the files of a record beside their final paths, under the key of the record.
  private func stage(
    _ names: AccountExport.FileNames, _ object: SyncObject, from source: TransferFolder
  ) throws {
    guard try database.read({ try SealedContent.find(names.contentUuid, in: $0) })?.presence[.full] != .here else {
      return
    }
    for (variant, name, digest) in [
      (AttachmentVariant.full, names.full, object.text("contentDigest")),
      (.thumbnail, names.thumbnail, object.text("thumbnailDigest")),
    ] {
      let path = source.path(ofFile: name)
      guard Files.exists(path), let key = try key(of: object) else { continue }
      let sealing = ContentEncryption(layout: layout, contentUuid: names.contentUuid, key: key)
      try sealing.makeFolder()
      let staged = layout.unfinishedAttachment(names.contentUuid, variant)
      // From an import that was interrupted, or for another record of the content.
      if Files.exists(staged) { try Files.removeTree(staged) }
      let file = try AttachmentSource(path)
      let sealed: ContentEncryption.Sealed
      do {
        sealed = try sealing.seal(variant) { try file.forEachPart($0.append) }
      } catch let error as SealedFileError {
        throw VaultError(error)
      }
      try file.checkUnchanged()
      guard digest == nil || digest == sealed.part.digest else {
        let column = variant == .full ? "contentDigest" : "thumbnailDigest"
        throw VaultError(
          .badValue, "\(path) is not the file of its record, because its SHA-256 is not the \(column)",
          hint: "restore the file, or remove it from the folder to import the record without it")
      }
    }
  }

  private func key(of object: SyncObject) throws -> SealingKey? {
    guard let text = object.text("contentKey") else { return nil }
    guard var bytes = Base64.bytes(text.utf8) else {
      throw VaultError(.badValue, "contentKey is not base64", name: "contentKey")
    }
    do throws(SealedFileError) { return try SealingKey(wiping: &bytes) } catch {
      throw VaultError(.badValue, "contentKey is not the base64 of 32 bytes", name: "contentKey")
    }
  }

  /// Moves the staged files of a record to their final paths.
  private func place(
    _ names: AccountExport.FileNames, _ connection: WriteConnection, _ result: inout TransferResult
  ) throws {
    guard let content = try SealedContent.find(names.contentUuid, in: connection) else { return result.missing += 1 }
    var isMoved = false
    for variant in AttachmentVariant.allCases where content.presence[variant] != .here {
      let staged = layout.unfinishedAttachment(names.contentUuid, variant)
      guard let bytes = Files.size(of: staged) else {
        if variant == .full { result.missing += 1 }
        continue
      }
      try Files.rename(staged, to: layout.attachmentFile(names.contentUuid, variant))
      try AttachmentContentRow.note(
        .here, sealedBytes: Int64(bytes), of: names.contentUuid, variant, in: connection)
      result.files += 1
      isMoved = true
    }
    guard isMoved else { return }
    try Files.syncFolder(layout.attachmentFolder(of: names.contentUuid))
    try AttachmentContentRow.queueUploads(of: names.contentUuid, in: connection)
  }
}
