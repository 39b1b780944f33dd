import CPlatform
import CipherSQL
import HTTPServer
import SQLCipherStorage
import ServerStorage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The files of one account: a table that describes them, and a folder in which each has a random name, in the
/// subfolder of its last two digits.
///
/// The row is created before the file and removed before it. So a crash can leave a file without a row, which a sweep
/// finds, and never a row without bytes.
///
/// The folder has a marker that the database knows. A folder without it is another volume, or the mount point of a
/// missing volume: nothing is written or removed there.
package final class AccountFiles: Sendable {
  let database: Database
  let place: FileIdentity
  private let folder: String
  private let parent: String
  private let madeFolders = Locked<Set<String>>([])
  private let marking = Locked(())

  /// Returns the free bytes of the file system of a folder.
  typealias FreeBytes = @Sendable (_ folder: String) throws -> Int64
  private let freeBytes: FreeBytes
  /// The space that uploads leave free, so that databases can still be written, including the database from which files
  /// are removed.
  static let reserve: Int64 = 64 << 20

  /// - Parameter parent: the folder of the account.
  init(_ database: Database, at place: FileIdentity, in parent: String, freeBytes: @escaping FreeBytes) throws {
    self.database = database
    self.place = place
    self.parent = parent
    self.freeBytes = freeBytes
    folder = parent + "/files"
    try Migrator(schemas: [FileSchema.schema]).apply(to: database)
  }

  func path(of file: String) -> String { "\(folder)/\(file.suffix(2))/\(file)" }

  /// Creates the folder of a file if it is missing, and makes its name durable.
  private func makeFolder(of file: String) throws {
    try madeFolders.withLock { made in
      let name = String(file.suffix(2))
      if made.contains(name) { return }
      for (path, parent) in [(folder, parent), ("\(folder)/\(name)", folder)] {
        if !Files.exists(path) { try Files.makeFolder(path) }
        // Also if the folder exists: its creator may have failed here.
        try Files.syncFolder(parent)
      }
      made.insert(name)
    }
  }

  /// Opens the file of an upload for writing, and creates it if it is missing.
  /// - Returns: the locked descriptor; `nil` if another writer has the file.
  func openForWriting(_ file: String) throws -> Int32? {
    try makeFolder(of: file)
    let path = path(of: file)
    let isNew = !Files.exists(path)
    let descriptor = cplatform_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.failure("open") }
    guard try Self.lock(descriptor) else { return nil }
    guard isNew else { return descriptor }
    do {
      try Files.syncFolder("\(folder)/\(file.suffix(2))")
      return descriptor
    } catch {
      // Without its file the next one begins here again; an open descriptor would keep its lock.
      _ = unlink(path)
      DiskUploadWriter.close(descriptor)
      throw error
    }
  }

  /// Opens the file of an upload that will be removed, so that no writer uses it. It does not create the file,
  /// because it must work on a full disk.
  /// - Returns: the locked descriptor; `nil` if the file does not exist.
  /// - Throws: ``FileRefusal`` with `busy` if a writer has it.
  func openForRemoval(_ file: String) throws -> Int32? {
    let descriptor = cplatform_open(path(of: file), O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw Self.failure("open") }
      return nil
    }
    guard try Self.lock(descriptor) else { throw FileRefusal.busy }
    return descriptor
  }

  /// Locks an open file, or closes it if that fails. The system releases the lock when the descriptor is closed in
  /// any way.
  /// - Returns: whether the file is locked; `false` if another process has the lock.
  private static func lock(_ descriptor: Int32) throws -> Bool {
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
    let isBusy = errno == EWOULDBLOCK
    let error = failure("lock")
    close(descriptor)
    if isBusy { return false }
    throw error
  }

  /// Opens a file for reading. Returns `nil` if it is missing.
  func openForReading(_ file: String) throws -> (file: OpenedFile, size: Int64)? {
    let descriptor = cplatform_open(path(of: file), O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw Self.failure("open") }
      return nil
    }
    return (OpenedFile(descriptor: descriptor), try Self.size(of: descriptor))
  }

  static func size(of descriptor: Int32) throws -> Int64 {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("look at") }
    return Int64(status.st_size)
  }

  /// Removes a file whose row was removed.
  func remove(_ file: String) throws {
    guard unlink(path(of: file)) == 0 || errno == ENOENT else { throw Self.failure("remove") }
  }

  // MARK: The marker

  /// The name of the marker file in the folder.
  private static let markerName = "marker"

  /// Returns whether the folder has the marker of this account. Marks a folder that was never marked, unless the
  /// account has contents and the folder contains none of them. Such a folder belongs to another account or volume.
  func carriesMarker() async throws -> Bool {
    let known = try await database.read { try FileTables(connection: $0).marker() }
    let path = folder + "/" + Self.markerName
    if Files.exists(path) {
      guard try Self.text(of: path) == known.text else { return false }
    } else {
      guard !known.isOnDisk else { return false }
      let contents = try await database.read { try FileTables(connection: $0).someContents(limit: 100) }
      guard try contents.isEmpty || contents.contains(where: { try isWhole($0.file, $0.byteCount) }) else {
        return false
      }
      // Several uploads may be the first ones at once.
      try marking.withLock { _ in
        if !Files.exists(path) { try Self.mark(folder, in: parent, as: known.text) }
      }
    }
    if !known.isOnDisk { try await database.write { try FileTablesWriter(connection: $0).markDisk() } }
    return true
  }

  /// - Throws: ``ServerError`` with `disk` if the folder lacks the marker of this account.
  func requireMarker() async throws {
    guard try await carriesMarker() else {
      throw ServerError(
        .disk, "\(folder) lacks the marker of this account: its volume is not mounted, or another one is")
    }
  }

  /// Writes the marker of an account into the folder of its files.
  package static func mark(_ folder: String, in parent: String, as text: String) throws {
    if !Files.exists(folder) { try Files.makeFolder(folder) }
    try Files.syncFolder(parent)
    let path = folder + "/" + markerName
    // Under another name first, so that a crash leaves no marker that is cut short.
    let draft = path + ".new"
    let descriptor = cplatform_open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.failure("make") }
    defer { DiskUploadWriter.close(descriptor) }
    let bytes = Array(text.utf8)
    guard write(descriptor, bytes, bytes.count) == bytes.count, Files.sync(descriptor), rename(draft, path) == 0 else {
      throw Self.failure("write")
    }
    try Files.syncFolder(folder)
  }

  private static func text(of path: String) throws -> String {
    let descriptor = cplatform_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
    guard descriptor >= 0 else { throw failure("open") }
    defer { DiskUploadWriter.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw failure("read") }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  // MARK: Sweeping

  /// Returns whether all bytes of a file exist.
  func isWhole(_ file: String, _ byteCount: Int64) throws -> Bool {
    var status = stat()
    guard lstat(path(of: file), &status) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw Self.failure("look at") }
      return false
    }
    return Int64(status.st_size) == byteCount
  }

  /// Returns the files of the folder that have no row. Names that the server never gives are not its own.
  func filesWithoutRow() async throws -> Set<String> {
    guard Files.exists(folder) else { return [] }
    // Listed before the rows are read: a listed file had its row before, unless it is to go.
    var listed: Set<String> = []
    for name in try Files.names(in: folder) where name.utf8.count == 2 {
      for file in try Files.names(in: "\(folder)/\(name)") where Self.isName(file, in: name) { listed.insert(file) }
    }
    // A row that a failed commit may still bring names its file, too.
    try await database.flushFailedCommits()
    return listed.subtracting(try await database.read { try FileTables(connection: $0).files() })
  }

  private static func isName(_ file: String, in folder: String) -> Bool {
    file.utf8.count == 32 && file.hasSuffix(folder)
      && file.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// Refuses bytes that do not fit on the disk in addition to the reserve.
  func checkRoom(for bytes: Int64) throws {
    guard try freeBytes(parent) - Self.reserve > bytes else { throw FileRefusal.noSpace }
  }

  /// Returns the error of the last failed call. It names no file, because the names are random.
  static func failure(_ action: String) -> any Error {
    if errno == ENOSPC || errno == EDQUOT { return FileRefusal.noSpace }
    return ServerError(.disk, "cannot \(action) a file of an account: \(String(cString: strerror(errno)))")
  }
}
