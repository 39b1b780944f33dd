import CipherSQL
import Platform

/// Checks of the encrypted attachment files. Each file is read and compared with its key and digest.
extension Doctor {
  /// Verifies the attachment files and adds the findings.
  /// - Throws: the errors of the progress callback.
  func checkAttachments(_ access: DatabaseAccess, _ diagnosis: inout Diagnosis) throws {
    do {
      guard let found = try access.withDatabase({ try verification(of: $0) }) else { return }
      for kind in [AttachmentProblem.Kind.damaged, .missing, .otherKey, .orphan, .foreign] {
        let problems = found.problems.filter { $0.kind == kind }
        if !problems.isEmpty { note(kind, problems, &diagnosis) }
      }
      diagnosis.checked.append(
        "the attachments: \(counted(found.files, "file")), \(found.bytes) bytes, with keys and digests")
    } catch {
      guard error is SQLError || error is VaultError || error is FileError else { throw error }
      diagnosis.unchecked.append("the attachments: \(describe(error))")
    }
  }

  /// Returns the verification of the attachments; `nil` for a vault whose schema predates attachments.
  private func verification(of database: Database) throws -> AttachmentVerification? {
    let entities = try database.read { connection -> Entities? in
      let table = try connection.fetchOne("SELECT 1 FROM sqlite_schema WHERE name = 'AttachmentContent'", as: Int.self)
      return table == nil ? nil : try Entities.read(from: connection)
    }
    guard let entities else { return nil }
    return try AttachmentVerifier(layout: layout, entities: entities, database: database).run(reading: true) { _, _ in
      try report("Checking the attachments")
    }
  }

  private func note(
    _ kind: AttachmentProblem.Kind, _ problems: [AttachmentProblem], _ diagnosis: inout Diagnosis
  ) {
    // Findings name files by uuid: a diagnosis may be shared, and must not reveal names that the user chose.
    let texts = problems.map { problem in
      let records = problem.attachments.map { "\($0.entityType) \($0.uuid)" }.joined(separator: ", ")
      return records.isEmpty || problem.kind == .otherKey ? problem.message : "\(problem.message): \(records)"
    }
    let what = texts.prefix(5).joined(separator: "; ") + (texts.count > 5 ? "; and \(texts.count - 5) more" : "")
    let isAtServer = problems.allSatisfy(\.serverHasIt)
    switch kind {
    case .damaged, .missing:
      diagnosis.add(
        isAtServer ? .warning : .damage, "attachments", what,
        meaning: isAtServer
          ? "these files cannot be opened here, but the server has them"
          : "these files cannot be opened; their records are intact",
        next: isAtServer ? .fetchAttachmentsAgain : .advice("restore the files from a backup")
      )
    case .otherKey:
      diagnosis.add(
        .warning, "attachments", what, meaning: "the record shows the content of another record",
        next: .advice("remove the record, or attach its file again"))
    case .orphan:
      diagnosis.add(
        .warning, "attachments", what, meaning: "they use space and cannot be opened",
        next: .repairVault)
    case .foreign:
      diagnosis.add(
        .note, "attachments", what, meaning: "the file is not used", next: .advice("move it elsewhere, or leave it"))
    }
  }

  /// Removes files that belong to no content.
  func sweepAttachments(_ access: DatabaseAccess, _ repair: inout RepairReport) {
    do {
      let outcome = try access.withDatabase { try AttachmentSweep(layout: layout, database: $0).run() }
      for name in outcome.removed { repair.done.append("removed \(name), which belonged to no record") }
      if outcome.isPostponed {
        repair.failed.append("orphaned files were not removed because another program is using attachments")
      }
    } catch {
      repair.failed.append(describe(error))
    }
  }
}
