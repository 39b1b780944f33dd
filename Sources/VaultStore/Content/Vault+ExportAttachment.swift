import Platform

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
  /// Writes an attachment as plaintext to a file of mode 0600. The file appears complete and verified, or not at
  /// all.
  /// - Parameters:
  ///   - target: the path of the new file, or a folder. In a folder the file gets the sanitised name of the
  ///     attachment.
  ///   - overwrites: whether an existing file is replaced.
  ///   - progress: receives the bytes that are done and the size in bytes. It may throw to cancel.
  /// - Returns: the path of the file and its size in bytes.
  /// - Throws: ``VaultError`` with `alreadyExists`, `notHere`, `damaged`, `noSpace` or `cannotWrite`.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func exportAttachment(
    _ uuid: UUID, _ variant: AttachmentVariant = .full, to target: String, overwrites: Bool = false,
    progress: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }
  ) throws -> (path: String, byteCount: Int) {
    let record = try attachment(uuid)
    let path =
      Files.isFolder(target) ? target + "/" + Self.harmlessName(record.fileName ?? record.uuid, variant) : target
    guard overwrites || !Files.exists(path) else { throw Self.exists(path) }
    let reader = try openAttachment(uuid, variant)
    let folder = Files.parent(of: path)
    let draft = folder + "/.fieldvault-\(environment.uuids.next().sqlText).part"
    let free = try Files.freeBytes(at: folder)
    guard free > reader.byteCount else {
      throw VaultError(
        .noSpace, "\(path) requires \(reader.byteCount) bytes; \(free) are free", hint: "choose another folder")
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
      // Rethrow the original failure. A draft that cannot be removed is recognisable by its name.
      try? Files.removeTree(draft)
      throw error
    }
  }

  /// Returns a display name as a valid file name: without folders, control or format characters, or a leading dot.
  /// The name has at most 200 bytes before the suffix of a thumbnail.
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
    // Most file systems limit a name to 255 bytes.
    while text.utf8.count > 200 { text.removeLast() }
    if text.isEmpty { text = "file" }
    return variant == .full ? text : text + ".thumbnail.jpg"
  }

  /// Moves a draft to its final path. A hard link fails if the path exists, whereas a rename would replace the
  /// file.
  private static func publish(_ draft: String, as path: String, overwrites: Bool) throws {
    if overwrites { return try Files.rename(draft, to: path) }
    if link(draft, path) == 0 { return try Files.removeTree(draft) }
    let reason = errno
    if reason == EEXIST { throw exists(path) }
    // Some file systems, such as those of memory sticks, do not support hard links.
    guard !Files.exists(path) else { throw exists(path) }
    try Files.rename(draft, to: path)
  }

  private static func exists(_ path: String) -> VaultError {
    VaultError(.alreadyExists, "\(path) already exists", remedy: .chooseOtherPathOrReplace)
  }
}
