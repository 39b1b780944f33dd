import CipherSQL
import Platform
import SchemaModel
import VaultKeys

/// Removes files that belong to no content, for example after a crash or a purge.
///
/// A complete file of a content that is recorded as absent is adopted if it matches the record. Such a file remains
/// after a download whose commit was lost, and in a salvaged vault.
package struct AttachmentSweep {
  private let layout: VaultLayout
  private let database: Database

  package init(layout: VaultLayout, database: Database) { (self.layout, self.database) = (layout, database) }

  /// The names of the files that were removed and adopted.
  package struct Outcome {
    package var removed: [String] = []
    package var adopted: [String] = []
    /// Whether another operation held the lock, so that no file could be removed.
    package var isPostponed = false
  }

  /// Removes the files without a row. Removes no file while another operation holds the lock; the next sweep
  /// removes it.
  @discardableResult
  package func run() throws -> Outcome {
    var outcome = Outcome()
    let suspects = try orphans(among: try StoredFile.all(in: layout))
    guard !suspects.isEmpty else { return outcome }
    guard let lock = AttachmentLock(ifFree: layout) else {
      outcome.isPostponed = true
      return outcome
    }
    defer { withExtendedLifetime(lock) {} }
    var kept: Set<StoredFile> = []
    for suspect in suspects {
      do {
        if try adopts(suspect) { outcome.adopted.append(suspect.name) }
      } catch  where error is VaultError || error is FileError {
        // The file cannot be read now, which does not make it an orphan.
        kept.insert(suspect)
      }
    }
    guard kept.count < suspects.count else { return outcome }
    // The row of a failed commit may still appear after a crash, and would reference its file.
    try database.flushFailedCommits()
    // The write transaction excludes other commits, so that no new row can reference a file that is being removed.
    outcome.removed = try database.write { connection in
      let orphans = try Self.orphans(among: suspects.filter { !kept.contains($0) }, in: connection)
      for orphan in orphans { try Files.removeTree(layout.folder + "/" + orphan.name) }
      return orphans.map(\.name)
    }
    for folder in Set(outcome.removed.map { Files.parent(of: layout.folder + "/" + $0) }) {
      try Files.syncFolder(folder)
    }
    return outcome
  }

  /// Marks an absent content as stored if the file decrypts under the content's key and matches the digest of the
  /// record, where the record has one.
  /// - Returns: whether the file was adopted.
  /// - Throws: ``VaultError`` when the file cannot be read.
  private func adopts(_ file: StoredFile) throws -> Bool {
    guard let name = file.content, name.isWhole,
      let content = try database.read({ try SealedContent.find(name.uuid, in: $0) }),
      content.presence[name.variant] == .absent
    else { return false }
    do {
      try content.verify(name.variant, in: layout)
    } catch let error as VaultError where error.code == .damaged || error.code == .refused {
      return false
    }
    guard let bytes = Files.size(of: layout.attachmentFile(name.uuid, name.variant)) else { return false }
    return try database.write { connection in
      // Another connection may have purged or evicted the content in the meantime.
      guard try SealedContent.find(name.uuid, in: connection)?.presence[name.variant] == .absent else { return false }
      try AttachmentContentRow.note(.here, sealedBytes: Int64(bytes), of: name.uuid, name.variant, in: connection)
      try connection.execute(
        """
        DELETE FROM AttachmentTransfer
        WHERE contentUuid = \(name.uuid) AND variant = \(name.variant.rawValue) AND direction = 'download'
        """)
      try AttachmentContentRow.queueUploads(of: name.uuid, in: connection)
      return true
    }
  }

  /// Returns the files that a sweep would remove.
  package func orphans(among files: [StoredFile]) throws -> [StoredFile] {
    let ours = files.filter { $0.content != nil }
    return ours.isEmpty ? [] : try database.read { try Self.orphans(among: ours, in: $0) }
  }

  private static func orphans(among files: [StoredFile], in connection: Connection) throws -> [StoredFile] {
    let known = try names(in: connection)
    return files.filter { file in
      guard let content = file.content else { return false }
      return !known.contains(Name(content.uuid, content.variant, isWhole: content.isWhole))
    }
  }

  private struct Name: Hashable {
    let uuid: String
    let variant: AttachmentVariant
    let isWhole: Bool

    init(_ uuid: String, _ variant: AttachmentVariant, isWhole: Bool) {
      (self.uuid, self.variant, self.isWhole) = (uuid, variant, isWhole)
    }
  }

  /// Returns the files that rows reference: stored files, and partial files of downloads.
  private static func names(in connection: Connection) throws -> Set<Name> {
    var names: Set<Name> = []
    try connection.forEach(
      "SELECT contentUuid, full = 'here', thumbnail = 'here' FROM AttachmentContent WHERE full = 'here' OR thumbnail = 'here'"
    ) { row in
      let uuid: String = try row.decode(at: 0)
      if try row.decode(at: 1) { names.insert(Name(uuid, .full, isWhole: true)) }
      if try row.decode(at: 2) { names.insert(Name(uuid, .thumbnail, isWhole: true)) }
    }
    try connection.forEach(
      "SELECT contentUuid, variant FROM AttachmentTransfer WHERE direction = 'download'"
    ) { row in
      let variant: String = try row.decode(at: 1)
      names.insert(Name(try row.decode(at: 0), AttachmentVariant(rawValue: variant) ?? .full, isWhole: false))
    }
    return names
  }
}
