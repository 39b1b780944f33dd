import CommandLineKit
import VaultStore

/// The form of attachments in output.
enum AttachmentFormat {
  /// Writes an attachment as an object.
  static func write(_ attachment: AttachmentRecord, to json: inout JSONWriter) throws {
    json.beginObject()
    json.member("uuid", attachment.uuid)
    json.member("entityType", attachment.entityType)
    for (column, owner) in attachment.references.sorted(by: { $0.key < $1.key }) { json.member(column, owner) }
    json.member("fileName", attachment.fileName)
    json.member("fileSize", attachment.byteCount.map { Int(clamping: $0) })
    json.member("mimeType", attachment.mimeType)
    json.member("width", attachment.width)
    json.member("height", attachment.height)
    json.member("capturedAt", attachment.capturedAt)
    json.member("contentUuid", attachment.contentUuid)
    json.member("contentDigest", attachment.digest)
    json.member("full", attachment.full)
    json.member("thumbnail", attachment.thumbnail)
    json.member("uploadStatus", attachment.uploadStatus)
    json.member("note", attachment.note)
    json.endObject()
  }

  static func table(for terminal: Terminal) -> TextTable {
    TextTable(["uuid", "name", "size", "type", "here", "upload"])
  }

  static func cells(of attachment: AttachmentRecord) -> [String] {
    let here =
      switch (attachment.full, attachment.thumbnail) {
      case ("here", _): "yes"
      case (nil, _): "no content"
      case (_, "here"): "thumbnail"
      default: "no"
      }
    // A missing file comes from another device, whose own row has its progress.
    let upload = attachment.full == "absent" ? "elsewhere" : attachment.uploadStatus ?? ""
    return [
      attachment.uuid, attachment.fileName ?? "", attachment.byteCount.map { byteText(Int(clamping: $0)) } ?? "",
      attachment.mimeType ?? "", here, upload,
    ]
  }

  /// Tells when files are about to make room.
  static func warnOfLimit(_ usage: AttachmentUsage, _ context: CommandContext) throws {
    guard usage.isNearLimit, usage.contents > 0 else { return }
    let used = "\(byteText(Int(clamping: usage.bytesUsed))) of \(byteText(Int(clamping: usage.limit)))"
    context.hint(
      usage.bytesUsed > usage.limit
        ? "Files take \(used); what the server does not have stays: 'fieldvault sync', or a larger storage-limit."
        : "Files take \(used); soon those that the server has make room.")
  }
}
