import CPlatform
import CipherSQL
import OfflineStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The files of one account: a table that says what they are, and a folder in which each has a name that was drawn by
/// chance, below its last two digits.
///
/// The row comes before the file and goes before it. So what a crash leaves over is a file without a row, which
/// ``sweepOrphans()`` finds, and never a row whose bytes are not there.
final class AccountFiles: Sendable {
  let database: Database
  private let folder: String
  private let parent: String
  private let madeFolders = Locked<Set<String>>([])

  /// How many bytes the file system of a folder has left.
  typealias FreeBytes = @Sendable (_ folder: String) throws -> Int64
  private let freeBytes: FreeBytes
  /// What uploads leave free, so that databases can still be written: also the one that has to note that files go.
  static let reserve: Int64 = 64 << 20

  /// - Parameter parent: the folder of the account.
  init(_ database: Database, in parent: String, freeBytes: @escaping FreeBytes) throws {
    self.database = database
    self.parent = parent
    self.freeBytes = freeBytes
    folder = parent + "/files"
    try Migrator(schemas: [FileSchema.schema], willApply: { _ in }, didApply: { _, _ in }).apply(to: database)
  }

  func path(of file: String) -> String { "\(folder)/\(file.suffix(2))/\(file)" }

  /// Makes the folder of a file where it is missing, and its name durable.
  private func makeFolder(of file: String) throws {
    try madeFolders.withLock { made in
      let name = String(file.suffix(2))
      if made.contains(name) { return }
      for (path, parent) in [(folder, parent), ("\(folder)/\(name)", folder)] {
        if !Files.exists(path) { try Files.makeFolder(path) }
        // Also where it is there already: the one who made it may have failed at this.
        try Files.syncFolder(parent)
      }
      made.insert(name)
    }
  }

  /// Opens the file of an upload for writing, making it when it is missing; nil when another writer has it.
  /// - Returns: the descriptor, locked.
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

  /// Opens the file of an upload that is to go, so that nobody writes to it meanwhile. It is not made for that: this has to
  /// work on a full disk too.
  /// - Returns: the descriptor, locked; nil when there is no file.
  /// - Throws: ``FileRefusal`` with `busy` when a writer has it.
  func openForRemoval(_ file: String) throws -> Int32? {
    let descriptor = cplatform_open(path(of: file), O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw Self.failure("open") }
      return nil
    }
    guard try Self.lock(descriptor) else { throw FileRefusal.busy }
    return descriptor
  }

  /// Locks an open file; when it cannot, the file is closed. The system frees it when the descriptor is closed, however
  /// that comes.
  /// - Returns: whether the file is locked: false when somebody else has it.
  private static func lock(_ descriptor: Int32) throws -> Bool {
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
    let isBusy = errno == EWOULDBLOCK
    let error = failure("lock")
    close(descriptor)
    if isBusy { return false }
    throw error
  }

  /// Opens a file for reading; nil when it is not there.
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

  /// Removes a file whose row is gone.
  func remove(_ file: String) throws { try remove(at: path(of: file)) }

  private func remove(at path: String) throws {
    guard unlink(path) == 0 || errno == ENOENT else { throw Self.failure("remove") }
  }

  /// Removes the files that have no row.
  func sweepOrphans() async throws {
    guard Files.exists(folder) else { return }
    // Listed before the rows are read: whatever is listed had its row before, unless it is to go.
    var listed: [(file: String, path: String)] = []
    for name in try Files.names(in: folder) {
      for file in try Files.names(in: "\(folder)/\(name)") { listed.append((file, "\(folder)/\(name)/\(file)")) }
    }
    let known = try await database.read { try FileTables(connection: $0).files() }
    for (file, path) in listed where !known.contains(file) { try remove(at: path) }
  }

  /// Refuses so many bytes more where the disk has no room for them beside the reserve.
  func checkRoom(for bytes: Int64) throws {
    guard try freeBytes(parent) - Self.reserve > bytes else { throw FileRefusal.noSpace }
  }

  /// The error for the last failed call. It names no file: a name says nothing to anybody.
  static func failure(_ action: String) -> any Error {
    if errno == ENOSPC || errno == EDQUOT { return FileRefusal.noSpace }
    return ServerError(.disk, "cannot \(action) a file of an account: \(String(cString: strerror(errno)))")
  }
}
