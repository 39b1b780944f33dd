#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Creates folders and files that only the owner may access, durably.
package enum Files {
  /// Returns whether a path exists, including a dangling link.
  package static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Returns whether nothing exists at a path; `false` as well if that cannot be determined.
  package static func isMissing(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
  }

  /// Returns whether a path is a folder, or a link to one.
  package static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Creates a folder with mode 0700.
  package static func makeFolder(_ path: String) throws(FileError) {
    guard mkdir(path, 0o700) == 0 else { throw .last("create the folder", path) }
  }

  /// Creates an empty file with mode 0600 at a free path. SQLite gives the files next to a database the mode of the
  /// database.
  package static func makeFile(_ path: String) throws(FileError) {
    _ = try OpenFile(creating: path)
  }

  /// Flushes the content of a file to the disk.
  package static func syncFile(_ path: String) throws(FileError) {
    try flush(path, O_RDONLY, "open", "sync")
  }

  /// Returns the size of a file in bytes; `nil` if it does not exist.
  package static func size(of path: String) -> Int? {
    var status = stat()
    return lstat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  /// Returns the space that the file system of a folder has left for this user, in bytes.
  package static func freeBytes(at path: String) throws(FileError) -> Int {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { throw .last("query the file system of", path) }
    return Int(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
  }

  /// Makes added and removed names of a folder durable.
  package static func syncFolder(_ path: String) throws(FileError) {
    try flush(path, O_RDONLY | O_DIRECTORY, "open the folder", "sync the folder")
  }

  /// Flushes the content of an open file to the disk. On failure, `errno` has the reason.
  package static func sync(_ descriptor: Int32) -> Bool {
    do throws(Descriptor.Failure) {
      try Descriptor(borrowing: descriptor).synchronize()
      return true
    } catch {
      return false
    }
  }

  private static func flush(
    _ path: String, _ flags: Int32, _ opening: String, _ flushing: String
  ) throws(FileError) {
    var action = opening
    do throws(Descriptor.Failure) {
      let file = try Descriptor(opening: path, flags)
      action = flushing
      try file.synchronize()
    } catch {
      throw FileError(action, path, error)
    }
  }

  /// Gives a file the owner and the group of another one, so that files which root writes for the user of a service stay readable.
  package static func copyOwner(of source: String, to target: String) throws(FileError) {
    var (known, new) = (stat(), stat())
    guard lstat(source, &known) == 0 else { throw .last("query the owner of", source) }
    guard lstat(target, &new) == 0 else { throw .last("query the owner of", target) }
    if known.st_uid == new.st_uid, known.st_gid == new.st_gid { return }
    guard lchown(target, known.st_uid, known.st_gid) == 0 else { throw .last("set the owner of", target) }
  }

  /// Returns whether a path is a regular file, and no link to one.
  package static func isRegularFile(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Returns the folder of a path. Slashes are found by bytes, as the system does: a slash and a combining mark at the beginning
  /// of a name are one `Character`.
  package static func parent(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Returns the last name of a path, without slashes at its end; `/` for the root.
  package static func name(of path: String) -> String {
    path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? path
  }

  /// Renames a file and replaces the file at the new path.
  package static func rename(_ source: String, to target: String) throws(FileError) {
    guard systemRename(source, target) == 0 else { throw .last("make", target) }
  }

  /// Copies a file to a free path, with mode 0600, durably.
  package static func copy(_ source: String, to target: String) throws(FileError) {
    let reading: Descriptor
    do throws(Descriptor.Failure) { reading = try Descriptor(opening: source, O_RDONLY) } catch {
      throw .unreadable(source, error)
    }
    let writing = try OpenFile(creating: target)
    while true {
      let part: [UInt8]
      do throws(Descriptor.Failure) { part = try reading.chunk(atMost: 256 << 10) } catch {
        throw .unreadable(source, error)
      }
      if part.isEmpty { break }
      try writing.write(part)
    }
    try writing.synchronize()
  }

  /// Removes a folder and its content. Missing files are ignored.
  package static func removeTree(_ path: String) throws(FileError) {
    if isFolder(path), !isLink(path) {
      for name in try names(in: path) { try removeTree(path + "/" + name) }
      guard rmdir(path) == 0 || errno == ENOENT else { throw .last("remove", path) }
    } else {
      guard unlink(path) == 0 || errno == ENOENT else { throw .last("remove", path) }
    }
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// Returns the names in a folder, sorted, without `.` and `..`.
  package static func names(in path: String) throws(FileError) -> [String] {
    guard let folder = opendir(path) else { throw .last("read the folder", path) }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) {
          String(cString: $0)
        }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}

// Within the type, the name is that of its function.
private func systemRename(_ source: String, _ target: String) -> Int32 { rename(source, target) }
