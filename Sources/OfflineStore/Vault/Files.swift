import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Translates errors of the file system.
enum FileProblem {
  /// Returns the error of the last failed call.
  static func current(_ action: String, _ path: String) -> VaultError { error(errno, action, path) }

  /// Returns the error of a failed call for a file that is read.
  static func unreadable(_ path: String) -> VaultError {
    VaultError(.unreadable, error(errno, "read", path).message, hint: "check the disk and the permissions")
  }

  static func error(_ number: Int32, _ action: String, _ path: String) -> VaultError {
    let reason = String(cString: strerror(number))
    let message = "cannot \(action) \(path): \(reason)"
    switch number {
    case ENOENT, ENOTDIR: return VaultError(.unreadable, message, hint: "check the path")
    case ENOSPC, EDQUOT: return VaultError(.noSpace, message, hint: "free some space and try again")
    case EACCES, EPERM, EROFS:
      return VaultError(.cannotWrite, message, hint: "check the permissions of the folder, or choose another place")
    default: return VaultError(.cannotWrite, message)
    }
  }
}

/// Creates folders and files that only the owner may access, durably.
package enum Files {
  /// Returns whether a path exists, including a dangling link.
  package static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Returns whether nothing exists at a path; `false` as well if that cannot be determined.
  static func isMissing(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
  }

  package static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Creates a folder of mode 0700.
  package static func makeFolder(_ path: String) throws(VaultError) {
    guard mkdir(path, 0o700) == 0 else { throw FileProblem.current("make the folder", path) }
  }

  /// Creates an empty file of mode 0600 at a free path. SQLite gives the files next to a database the mode of the
  /// database.
  package static func makeFile(_ path: String) throws(VaultError) {
    let descriptor = cplatform_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileProblem.current("make", path) }
    close(descriptor)
  }

  /// Flushes the content of a file to the disk.
  package static func syncFile(_ path: String) throws(VaultError) {
    let descriptor = cplatform_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw FileProblem.current("open", path) }
    defer { close(descriptor) }
    guard sync(descriptor) else { throw FileProblem.current("sync", path) }
  }

  /// Flushes the content of an open file to the disk.
  package static func sync(_ descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      // On this system, fsync leaves the content in the cache of the drive. Some file systems support nothing else.
      if cplatform_fcntl(descriptor, F_FULLFSYNC, 0) == 0 { return true }
    #endif
    return fsync(descriptor) == 0
  }

  /// Returns the size of a file in bytes; `nil` if it does not exist.
  package static func size(of path: String) -> Int? {
    var status = stat()
    return lstat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  /// Returns the space that the file system of a folder has left for this user, in bytes.
  package static func freeBytes(at path: String) throws(VaultError) -> Int {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { throw FileProblem.current("look at the file system of", path) }
    return Int(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
  }

  /// Makes names durable that were added to a folder or removed from it.
  package static func syncFolder(_ path: String) throws(VaultError) {
    let descriptor = cplatform_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw FileProblem.current("open the folder", path) }
    defer { close(descriptor) }
    guard sync(descriptor) else { throw FileProblem.current("sync the folder", path) }
  }

  /// Renames a file and replaces the file at the new path.
  package static func rename(_ source: String, to target: String) throws(VaultError) {
    guard systemRename(source, target) == 0 else { throw FileProblem.current("make", target) }
  }

  /// Copies a file to a free path, with mode 0600, durably.
  package static func copy(_ source: String, to target: String) throws(VaultError) {
    let reading = cplatform_open(source, O_RDONLY | O_CLOEXEC, 0)
    guard reading >= 0 else { throw FileProblem.unreadable(source) }
    defer { close(reading) }
    let writing = cplatform_open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard writing >= 0 else { throw FileProblem.current("make", target) }
    defer { close(writing) }
    var part = [UInt8](repeating: 0, count: 256 << 10)
    while true {
      let count = read(reading, &part, part.count)
      guard count >= 0 else { throw FileProblem.unreadable(source) }
      if count == 0 { break }
      var start = 0
      while start < count {
        let written = part.withUnsafeBytes { write(writing, $0.baseAddress.map { $0 + start }, count - start) }
        guard written > 0 else { throw FileProblem.current("write", target) }
        start += written
      }
    }
    guard sync(writing) else { throw FileProblem.current("sync", target) }
  }

  /// Removes a folder and its content. Missing files are no error.
  package static func removeTree(_ path: String) throws(VaultError) {
    if isFolder(path), !isLink(path) {
      for name in try names(in: path) { try removeTree(path + "/" + name) }
      guard rmdir(path) == 0 || errno == ENOENT else { throw FileProblem.current("remove", path) }
    } else {
      guard unlink(path) == 0 || errno == ENOENT else { throw FileProblem.current("remove", path) }
    }
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// Returns the names in a folder, sorted, without `.` and `..`.
  package static func names(in path: String) throws(VaultError) -> [String] {
    guard let folder = opendir(path) else { throw FileProblem.current("read the folder", path) }
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
