import Platform
import VaultKeys

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A file in the attachments folder, identified by its name.
package struct StoredFile: Hashable {
  /// The folder of attachment files in a vault, with a slash.
  package static let folder = "attachments/"

  /// The path relative to the vault, such as `attachments/ab/0193...`.
  package let name: String
  /// The parts of the name; `nil` if it is not the name of an attachment file.
  package let content: (uuid: String, variant: AttachmentVariant, isWhole: Bool)?

  package static func == (left: StoredFile, right: StoredFile) -> Bool { left.name == right.name }
  package func hash(into hasher: inout Hasher) { hasher.combine(name) }

  /// Returns all files, ordered by name.
  package static func all(in layout: VaultLayout) throws(FileError) -> [StoredFile] {
    guard Files.isFolder(layout.attachments) else { return [] }
    var found: [StoredFile] = []
    for folder in try Files.names(in: layout.attachments) {
      let path = layout.attachments + "/" + folder
      guard Files.isFolder(path) else {
        found.append(StoredFile(name: Self.folder + folder, content: nil))
        continue
      }
      for name in try Files.names(in: path) {
        found.append(
          StoredFile(name: Self.folder + folder + "/" + name, content: content(name, in: folder)))
      }
    }
    return found
  }

  private static func content(
    _ name: String, in folder: String
  ) -> (uuid: String, variant: AttachmentVariant, isWhole: Bool)? {
    var rest = Substring(name)
    let isWhole = !rest.hasSuffix(VaultLayout.unfinishedSuffix)
    if !isWhole { rest = rest.dropLast(VaultLayout.unfinishedSuffix.count) }
    let isThumbnail = rest.hasSuffix(VaultLayout.thumbnailSuffix)
    if isThumbnail { rest = rest.dropLast(VaultLayout.thumbnailSuffix.count) }
    guard rest.count == 36, rest.hasSuffix(folder), UUID(sqlText: String(rest))?.sqlText == String(rest) else {
      return nil
    }
    return (String(rest), isThumbnail ? .thumbnail : .full, isWhole)
  }
}
