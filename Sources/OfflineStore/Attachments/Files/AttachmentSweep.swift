import CipherSQL

/// Removes files that belong to no content, as a crash or a purge leaves them. A whole file of a content that is known and
/// not here, as after a download that was not written down, or in a vault that was put together from what could be read,
/// is taken in when it is what the records say.
struct AttachmentSweep {
  let layout: VaultLayout
  let database: Database

  /// What was found and removed.
  struct Outcome {
    var removed: [String] = []
    var adopted: [String] = []
    /// True when somebody else was at work, so that nothing could be removed.
    var isPostponed = false
  }

  /// Removes what no row knows. Nothing goes while somebody writes files, or needs that none goes: the next time does it.
  @discardableResult
  func run() throws -> Outcome {
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
      } catch is VaultError {
        // It cannot be read now, which says nothing about what it is.
        kept.insert(suspect)
      }
    }
    guard kept.count < suspects.count else { return outcome }
    // A row that a failed commit may still bring names its file, too.
    try database.flushFailedCommits()
    // Nobody commits meanwhile, so that a row cannot come to a file that is about to go.
    outcome.removed = try database.write { connection in
      let orphans = try Self.orphans(among: suspects.filter { !kept.contains($0) }, in: connection)
      for orphan in orphans { try Files.removeTree(layout.folder + "/" + orphan.name) }
      return orphans.map(\.name)
    }
    for folder in Set(outcome.removed.map { VaultLayout.parent(of: layout.folder + "/" + $0) }) {
      try Files.syncFolder(folder)
    }
    return outcome
  }

  /// Takes in a file that is what the records say of a content that is not here, as far as they say it; its key says the
  /// rest.
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
      // Others may have purged it or made room meanwhile.
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

  /// Those that a sweep would remove.
  func orphans(among files: [StoredFile]) throws -> [StoredFile] {
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

  /// The files that rows know: those that are here, and what has come of downloads.
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

extension Vault {
  /// Where the disk cannot be written the vault is as good as with it: the next time that it is opened tries again, and
  /// `doctor` names what stays.
  package func sweepIfPossible() { _ = try? sweepAttachments() }

  /// Removes files of attachments that no record needs any more: after a purge, after room was made, and after a crash.
  /// Opening the vault does it, too.
  ///
  /// Nothing is removed while anybody takes files in or copies them; then the next time does it.
  /// - Returns: how many files were removed.
  @discardableResult
  public func sweepAttachments() throws -> Int {
    try AttachmentSweep(layout: layout, database: database).run().removed.count
  }
}
