import Platform
import VaultKeys

/// One of the files of a content.
public enum AttachmentVariant: String, CaseIterable, Sendable {
  /// The content itself.
  case full
  /// A small JPEG of the picture.
  case thumbnail
}

extension VaultLayout {
  /// Returns the folder of a content's files, such as `attachments/ab`. It is named by the last two digits of the
  /// uuid: the first digits are a time and would put all files of a day into one folder.
  package func attachmentFolder(of contentUuid: String) -> String { attachments + "/" + contentUuid.suffix(2) }

  /// Returns the path of a complete file.
  /// - Parameter contentUuid: the value from a row of `AttachmentContent`, which is a uuid and therefore not a path.
  package func attachmentFile(_ contentUuid: String, _ variant: AttachmentVariant) -> String {
    let path = attachmentFolder(of: contentUuid) + "/" + contentUuid
    return variant == .full ? path : path + Self.thumbnailSuffix
  }

  /// Returns the path of the file while it is incomplete.
  package func unfinishedAttachment(_ contentUuid: String, _ variant: AttachmentVariant) -> String {
    attachmentFile(contentUuid, variant) + Self.unfinishedSuffix
  }

  /// Creates the folder of a content's files.
  package func makeAttachmentFolder(of contentUuid: String) throws(FileError) {
    let folder = attachmentFolder(of: contentUuid)
    if !Files.exists(folder) {
      do throws(FileError) {
        try Files.makeFolder(folder)
      } catch {
        // Another process may have created the folder in the meantime.
        guard Files.isFolder(folder) else { throw error }
      }
    }
    // Also for an existing folder: the process that created it may have crashed before it flushed the parent.
    try Files.syncFolder(attachments)
  }

  package static let thumbnailSuffix = ".thumbnail"
  package static let unfinishedSuffix = ".part"
}
