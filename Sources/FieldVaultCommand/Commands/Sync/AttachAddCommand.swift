import CommandLineKit
import Platform
import VaultStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

enum AttachAddCommand: ProgramCommand {
  static let description = CommandDescription(
    "add", summary: "attach files to a record",
    discussion: """
      Encrypts and stores each file, and creates an attachment record that belongs to the given record: a Photo in \
      the restoration schema. Either all files are attached or none. Identical content is stored once. The original \
      file is not changed. --json prints the attachment, or an array if several FILEs are given. The settings \
      'recompress' and 'strip-location' determine whether images are scaled down and lose their location.
      """,
    arguments: [
      entityArgument, .required("UUID", recordHelp, completion: .of(.record)),
      .oneOrMore("FILE", "the files", completion: .file),
    ],
    examples: [
      Example("fieldvault attach add MoistureLog 0193... IMG_0001.jpg", "attach a photo to a reading"),
      Example("fieldvault attach add Project 0193... *.jpg plan.pdf", "attach several files, all or none"),
    ],
    exitCodes: usual + [.noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let identifier = try context.identifier("UUID")
    let files = context.arguments.values("FILE")
    let vault = try context.openVault()
    let owner = try vault.entities.entity(try context.arguments.required("ENTITY"))
    let uuid = try vault.uuid(identifier, of: owner)
    var line: FileProgressLine?
    defer { line?.finish() }
    let made = try vault.attach(files, to: owner, uuid) { path, done, total in
      if line?.path != path {
        line?.finish()
        line = FileProgressLine(path, context)
      }
      line?.show(done, of: total)
    }
    line?.finish()
    let attachments = try made.map { try vault.attachment($0) }
    if context.isJSON {
      try context.writeJSON { json in
        if files.count > 1 { json.beginArray() }
        for attachment in attachments { try AttachmentFormat.write(attachment, to: &json) }
        if files.count > 1 { json.endArray() }
      }
    } else {
      for attachment in attachments { try context.tell(attachment.uuid) }
    }
    for attachment in attachments {
      guard let note = attachment.note else { continue }
      context.hint("\(escaped(attachment.fileName ?? attachment.uuid)): \(escaped(note))")
    }
    try AttachmentFormat.warnOfLimit(try vault.attachmentUsage(), context)
  }
}

/// The progress of one file.
private final class FileProgressLine {
  let path: String
  private let line: ByteProgressLine

  init(_ path: String, _ context: CommandContext) {
    self.path = path
    line = ByteProgressLine("Adding \(escaped(Files.name(of: path)))", context)
  }

  func show(_ done: Int, of total: Int) { line.show(done, of: total) }
  func finish() { line.finish() }
}
