import CipherSQL

/// What is wrong with a file of an attachment.
public struct AttachmentProblem: Sendable, Hashable {
  /// A kind of problem.
  public enum Kind: String, Sendable {
    /// The file is not what was written, or not the content that the record names.
    case damaged
    /// There is no file.
    case missing
    /// A record whose key is not that of its content: it names a content of somebody else.
    case otherKey = "other_key"
    /// A file of no content, which nobody needs; a sweep removes it.
    case orphan
    /// Something that is no file of a vault.
    case foreign
  }

  /// What kind of problem it is.
  public let kind: Kind
  /// The file, or the record, by its name in the vault.
  public let name: String
  /// The attachments that it concerns: their kind, uuid and name.
  public let attachments: [AttachmentRecord]
  /// What was found, in words.
  public let message: String
  /// Whether the server has the file, so that it can be fetched again.
  public let serverHasIt: Bool
}

/// What a verification came to.
public struct AttachmentVerification: Sendable {
  /// Files that were read, and their bytes.
  public internal(set) var files = 0, bytes = 0
  /// What was found.
  public internal(set) var problems: [AttachmentProblem] = []
}

/// Checks the files of attachments against their keys and digests.
struct AttachmentVerifier {
  let layout: VaultLayout
  let entities: Entities
  let database: Database

  func run(reading: Bool, _ progress: (_ done: Int64, _ total: Int64) throws -> Void) throws -> AttachmentVerification {
    var result = AttachmentVerification()
    // While it looks nobody removes a file.
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
        try add(.damaged, name, content, variant, "\(name) has \(size) bytes, and was written with \(wanted)", &result)
      }
    } catch let error as VaultError where error.code == .damaged || error.code == .unreadable || error.code == .refused
    {
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

  /// Records that name a content and another key than that has.
  private func checkKeys(_ result: inout AttachmentVerification) throws {
    let found = try records("content.contentKey IS NOT NULL AND record.contentKey IS NOT content.contentKey")
    for record in found {
      result.problems.append(
        AttachmentProblem(
          kind: .otherKey, name: "\(record.entityType) \(record.uuid)", attachments: [record],
          message: "\(record.entityType) \(record.uuid) has another key than the content that it names",
          serverHasIt: false))
    }
  }

  private func checkStrangers(_ result: inout AttachmentVerification) throws {
    let files = try StoredFile.all(in: layout)
    let orphans = try AttachmentSweep(layout: layout, database: database).orphans(among: files)
    for file in files {
      if file.content == nil {
        result.problems.append(problem(.foreign, file, "\(file.name) is no file of an attachment"))
      } else if orphans.contains(file) {
        result.problems.append(problem(.orphan, file, "\(file.name) belongs to no record"))
      }
    }
  }

  private func problem(_ kind: AttachmentProblem.Kind, _ file: StoredFile, _ message: String) -> AttachmentProblem {
    AttachmentProblem(kind: kind, name: file.name, attachments: [], message: message, serverHasIt: false)
  }
}

extension Vault {
  /// Reads all files of attachments and checks each against its key and its digest; names what is damaged, missing, or does
  /// not belong there.
  /// - Parameter progress: called with the bytes that are done and the bytes in all; may throw to end it.
  @available(*, noasync, message: "use a thread of your own in asynchronous code")
  public func verifyAttachments(
    progress: (_ done: Int64, _ total: Int64) throws -> Void = { _, _ in }
  ) throws -> AttachmentVerification {
    try AttachmentVerifier(layout: layout, entities: entities, database: database).run(reading: true, progress)
  }

  /// Has the files fetched again that a verification found damaged or missing and that the server has.
  /// - Returns: how many.
  public func fetchAgain(_ problems: [AttachmentProblem]) throws -> Int {
    var count = 0
    for problem in problems where problem.serverHasIt {
      guard let uuid = problem.attachments.first?.contentUuid else { continue }
      let variant: AttachmentVariant = problem.name.hasSuffix(VaultLayout.thumbnailSuffix) ? .thumbnail : .full
      try syncNow { transaction in
        try AttachmentContentRow.note(.absent, sealedBytes: nil, of: uuid, variant, in: transaction.connection)
        try transaction.requestDownload(of: uuid, variant)
      }
      count += 1
    }
    try sweepAttachments()
    return count
  }
}
