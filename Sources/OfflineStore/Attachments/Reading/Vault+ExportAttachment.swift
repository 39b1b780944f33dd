#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Vault {
  /// Writes an attachment, not encrypted, to a file of mode 0600. The file appears whole and verified, or not at all.
  /// - Parameters:
  ///   - target: the file to make; or a folder, in which it gets the attachment's name, made harmless.
  ///   - overwrites: whether a file that stands there is replaced.
  ///   - progress: called with the bytes that are done and the bytes in all; may throw to end it.
  /// - Returns: the path of the file, and its size in bytes.
  /// - Throws: ``VaultError`` with `alreadyExists`, `notHere`, `damaged`, `noSpace` or `cannotWrite`.
  @available(*, noasync, message: "use a thread of your own in asynchronous code")
  public func exportAttachment(
    _ uuid: UUID, _ variant: AttachmentVariant = .full, to target: String, overwrites: Bool = false,
    progress: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws -> (path: String, byteCount: Int) {
    let record = try attachment(uuid)
    let path =
      Files.isFolder(target) ? target + "/" + Self.harmlessName(record.fileName ?? record.uuid, variant) : target
    guard overwrites || !Files.exists(path) else { throw Self.exists(path) }
    let reader = try openAttachment(uuid, variant)
    let folder = VaultLayout.parent(of: path)
    let draft = folder + "/.fieldvault-\(UUID().sqlText).part"
    let free = try Files.freeBytes(at: folder)
    guard free > reader.byteCount else {
      throw VaultError(
        .noSpace, "\(path) needs \(reader.byteCount) bytes, and \(free) are free there", hint: "choose another place")
    }
    let file = try OpenFile(creating: draft)
    do {
      var done = 0
      try reader.forEachPart { part in
        try file.write(part)
        done += part.count
        try progress(done, reader.byteCount)
      }
      try file.synchronize()
      try Self.publish(draft, as: path, overwrites: overwrites)
      try Files.syncFolder(folder)
      return (path, done)
    } catch {
      // The failure is what counts; the name tells where a draft comes from that cannot be removed.
      try? Files.removeTree(draft)
      throw error
    }
  }

  /// The name of an attachment as one that a file may have: without folders and control characters, and not hidden.
  static func harmlessName(_ name: String, _ variant: AttachmentVariant = .full) -> String {
    let scalars = name.unicodeScalars.map { scalar -> Character in
      scalar == "/" || scalar == "\\" || scalar.properties.generalCategory == .control
        || scalar.properties.generalCategory == .lineSeparator
        || scalar.properties.generalCategory == .paragraphSeparator
        || scalar.properties.generalCategory == .format
        ? "_" : Character(scalar)
    }
    var text = String(scalars)
    while text.hasPrefix(".") { text = "_" + text.dropFirst() }
    // Most file systems take 255 bytes.
    while text.utf8.count > 200 { text.removeLast() }
    if text.isEmpty { text = "file" }
    return variant == .full ? text : text + ".thumbnail.jpg"
  }

  /// Gives a draft its name; a link fails where something stands, a renaming would replace it.
  private static func publish(_ draft: String, as path: String, overwrites: Bool) throws {
    if overwrites { return try Files.rename(draft, to: path) }
    if link(draft, path) == 0 { return try Files.removeTree(draft) }
    let reason = errno
    if reason == EEXIST { throw exists(path) }
    // A file system without links, as on a memory stick.
    guard !Files.exists(path) else { throw exists(path) }
    try Files.rename(draft, to: path)
  }

  private static func exists(_ path: String) -> VaultError {
    VaultError(.alreadyExists, "\(path) exists already", hint: "choose another name; --force replaces it")
  }
}
