/// Which of the files of a content is meant.
public enum AttachmentVariant: String, CaseIterable, Sendable {
  /// The content itself.
  case full
  /// A small picture of it.
  case thumbnail
}

extension VaultLayout {
  /// The folder in which the files of a content stand: `attachments/ab`, by the last two digits of its uuid, since the first
  /// ones are a time and would put all files of a day into one folder.
  package func attachmentFolder(of contentUuid: String) -> String { attachments + "/" + contentUuid.suffix(2) }

  /// Where a file of a content stands when it is whole.
  /// - Parameter contentUuid: as a row of `AttachmentContent` has it, which is a uuid and no path.
  package func attachmentFile(_ contentUuid: String, _ variant: AttachmentVariant) -> String {
    let path = attachmentFolder(of: contentUuid) + "/" + contentUuid
    return variant == .full ? path : path + Self.thumbnailSuffix
  }

  /// Where it is written until it is whole.
  package func unfinishedAttachment(_ contentUuid: String, _ variant: AttachmentVariant) -> String {
    attachmentFile(contentUuid, variant) + Self.unfinishedSuffix
  }

  /// Makes the folder in which the files of a content stand.
  func makeAttachmentFolder(of contentUuid: String) throws(VaultError) {
    let folder = attachmentFolder(of: contentUuid)
    if !Files.exists(folder) {
      do throws(VaultError) {
        try Files.makeFolder(folder)
      } catch {
        // Another process may have made it meanwhile.
        guard Files.isFolder(folder) else { throw error }
      }
    }
    // Also when it was there: its maker may have died before this.
    try Files.syncFolder(attachments)
  }

  static let thumbnailSuffix = ".thumbnail"
  static let unfinishedSuffix = ".part"
}
