#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A small file that is replaced completely or not at all.
///
/// The content is written to `.NAME.tmp` in the same folder, with mode 0600, and flushed to the disk. Then one rename
/// replaces the file, and the folder is flushed. After a crash the file is the old or the new one, and the next write
/// replaces a remaining `.NAME.tmp`. One process writes at a time: the caller holds the lock of the vault.
package struct AtomicFile {
  package let path: String
  private let folder: String
  private let temporary: String

  package init(_ path: String) {
    self.path = path
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
    let before = slash.map { String(path[..<$0]) }
    folder = before.map { $0.isEmpty ? "/" : $0 } ?? "."
    temporary = (before.map { $0 + "/" } ?? "") + ".\(name).tmp"
  }

  /// Replaces the content of the file.
  /// - Parameter keepsOwner: whether the new file gets the owner of the former one, for a command that runs as root.
  package func replace(with content: UnsafeRawBufferPointer, keepsOwner: Bool = false) throws(FileError) {
    try prepare(content)
    if keepsOwner {
      do { try Files.copyOwner(of: path, to: temporary) } catch {
        _ = unlink(temporary)
        throw error
      }
    }
    guard rename(temporary, path) == 0 else { throw abandon(.last) }
    try synchronizeFolder()
  }

  /// Writes the content to a free path, or throws an error with the number `EEXIST`.
  package func create(_ content: UnsafeRawBufferPointer) throws(FileError) {
    try prepare(content)
    // link(2) refuses an existing name, which rename(2) does not.
    if link(temporary, path) != 0 {
      let failure = Descriptor.Failure.last
      guard [EPERM, ENOTSUP, ENOSYS, EMLINK].contains(failure.number) else { throw abandon(failure) }
      try createWithoutLinks()
    } else {
      _ = unlink(temporary)
    }
    try synchronizeFolder()
  }

  /// For file systems without hard links: an empty file reserves the name first.
  private func createWithoutLinks() throws(FileError) {
    do {
      _ = try Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
    } catch {
      throw abandon(error)
    }
    guard rename(temporary, path) == 0 else {
      let failure = Descriptor.Failure.last
      _ = unlink(path)
      throw abandon(failure)
    }
  }

  private func prepare(_ content: UnsafeRawBufferPointer) throws(FileError) {
    // A leftover of a crash. A symbolic link in its place is removed, never followed.
    _ = unlink(temporary)
    do {
      let file = try Descriptor(opening: temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      try file.setMode(0o600)
      try file.write(content)
      try file.synchronize()
    } catch {
      throw abandon(error)
    }
  }

  /// Removes the temporary file. The original failure is reported.
  private func abandon(_ failure: Descriptor.Failure) -> FileError {
    _ = unlink(temporary)
    return FileError("write", path, failure)
  }

  private func synchronizeFolder() throws(FileError) {
    do {
      try Descriptor(opening: folder, O_RDONLY | O_DIRECTORY).synchronize()
    } catch {
      throw FileError(
        .notDurable, "\(path): written, but the folder could not be synced to disk: \(error.text)", path: path,
        number: error.number)
    }
  }
}
