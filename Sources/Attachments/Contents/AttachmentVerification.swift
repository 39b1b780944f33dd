import CipherSQL
import Platform
import SchemaModel
import VaultKeys

/// A problem with an attachment file, or with the key in a record.
public struct AttachmentProblem: Sendable, Hashable {
  /// A kind of problem.
  public enum Kind: String, Sendable {
    /// The file is not as it was written, or does not match the digest of the record.
    case damaged
    /// The file is missing.
    case missing
    /// The key in a record differs from the key of the content that the record references. The content belongs to
    /// another record.
    case otherKey = "other_key"
    /// The file belongs to no content. A sweep removes it.
    case orphan
    /// The name is not that of an attachment file.
    case foreign
  }

  /// The kind of problem.
  public let kind: Kind
  /// The path of the file relative to the vault, or the entity and uuid of the record.
  public let name: String
  /// The attachments that the problem concerns.
  public let attachments: [AttachmentRecord]
  /// The description of the problem.
  public let message: String
  /// Whether the server holds the file, so that it can be fetched again.
  public let serverHasIt: Bool
}

/// The result of a verification.
public struct AttachmentVerification: Sendable {
  /// The number of checked files and their bytes.
  public internal(set) var files = 0, bytes = 0
  /// The problems that the verification found.
  public internal(set) var problems: [AttachmentProblem] = []
}

/// Verifies attachment files against their keys and digests.
package struct AttachmentVerifier {
  private let layout: VaultLayout
  private let entities: Entities
  private let database: Database

  package init(layout: VaultLayout, entities: Entities, database: Database) {
    (self.layout, self.entities, self.database) = (layout, entities, database)
  }

  package func run(reading: Bool, _ progress: (_ done: Int64, _ total: Int64) throws -> Void) throws
    -> AttachmentVerification
  {
    var result = AttachmentVerification()
    // The shared lock prevents the removal of files during the verification.
    let lock = try AttachmentLock(sharing: layout)
    defer { withExtendedLifetime(lock) {} }
    let uuids = try database.read { connection in
      try connection.fetch("SELECT contentUuid FROM AttachmentContent ORDER BY addedAt, contentUuid", as: String.self)
    }
    let total = try database.read { try AttachmentUsage.bytesUsed(in: $0) }
    var done: Int64 = 0
    for uuid in uuids {
      guard let content = try database.read({ try SealedContent.find(uuid, in: $0) }) else { continue }
      for variant in AttachmentVariant.allCases where content.presence[variant] == .here {
        try check(content, variant, reading: reading, &result)
        done += content.sealedBytes[variant] ?? 0
        try progress(done, total)
      }
    }
    try checkKeys(&result)
    try checkStrangers(&result)
    return result
  }

  private func check(
    _ content: SealedContent, _ variant: AttachmentVariant, reading: Bool, _ result: inout AttachmentVerification
  ) throws {
    let path = layout.attachmentFile(content.uuid, variant)
    let name = String(path.dropFirst(layout.folder.utf8.count + 1))
    result.files += 1
    guard let size = Files.size(of: path) else {
      return try add(.missing, name, content, variant, "\(name) is missing", &result)
    }
    result.bytes += size
    do {
      if reading {
        try content.verify(variant, in: layout)
      } else if let wanted = content.sealedBytes[variant], wanted != Int64(size) {
        try add(.damaged, name, content, variant, "\(name) has \(size) bytes instead of \(wanted)", &result)
      }
    } catch let error as VaultError where [.damaged, .unreadable, .refused].contains(error.code) {
      try add(.damaged, name, content, variant, error.message, &result)
    }
  }

  private func add(
    _ kind: AttachmentProblem.Kind, _ name: String, _ content: SealedContent, _ variant: AttachmentVariant,
    _ message: String, _ result: inout AttachmentVerification
  ) throws {
    result.problems.append(
      AttachmentProblem(
        kind: kind, name: name, attachments: try records("record.contentUuid = \(content.uuid)"), message: message,
        serverHasIt: content.serverHas[variant] ?? false))
  }

  private func records(_ condition: SQL) throws -> [AttachmentRecord] {
    try database.read { connection in
      var found: [AttachmentRecord] = []
      for attachment in entities.attachments {
        try AttachmentRecord.forEach(of: attachment, in: entities, where: condition, connection) { found.append($0) }
      }
      return found
    }
  }

  /// Reports the records whose key differs from the key of the content that they reference.
  private func checkKeys(_ result: inout AttachmentVerification) throws {
    let found = try records("content.contentKey IS NOT NULL AND record.contentKey IS NOT content.contentKey")
    for record in found {
      result.problems.append(
        AttachmentProblem(
          kind: .otherKey, name: "\(record.entityType) \(record.uuid)", attachments: [record],
          message: "\(record.entityType) \(record.uuid) has a different key than its content",
          serverHasIt: false))
    }
  }

  private func checkStrangers(_ result: inout AttachmentVerification) throws {
    let files = try StoredFile.all(in: layout)
    let orphans = try AttachmentSweep(layout: layout, database: database).orphans(among: files)
    for file in files {
      if file.content == nil {
        result.problems.append(problem(.foreign, file, "\(file.name) is not an attachment file"))
      } else if orphans.contains(file) {
        result.problems.append(problem(.orphan, file, "\(file.name) belongs to no record"))
      }
    }
  }

  private func problem(_ kind: AttachmentProblem.Kind, _ file: StoredFile, _ message: String) -> AttachmentProblem {
    AttachmentProblem(kind: kind, name: file.name, attachments: [], message: message, serverHasIt: false)
  }
}
