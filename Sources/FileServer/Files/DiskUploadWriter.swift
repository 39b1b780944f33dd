import CipherSQL
import ServerStorage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Writes to the locked file of one upload.
final class DiskUploadWriter: UploadWriting {
  private struct State {
    var upload: StoredUpload
    /// The offset of the next byte.
    var end: Int64
    /// The offset up to which bytes of an upload of unknown length already count towards the quota.
    var reserved: Int64
    /// Whether a commit has failed and may still take effect. In this case the file must keep its bytes.
    var mayCountMore = false
    var isClosed = false
  }

  private let state: Locked<State>
  private let file: String
  private let files: AccountFiles
  private let descriptor: Int32
  private let start: Int64

  /// Takes a locked descriptor, unless it throws. Bytes after the offset are truncated, so that no failed commit that
  /// counts them can reappear.
  /// - Parameter bytes: the number of expected bytes, if the upload does not name it.
  init(_ row: FileTables.UploadRow, _ files: AccountFiles, _ descriptor: Int32, expecting bytes: Int64) throws {
    let size = try AccountFiles.size(of: descriptor)
    guard row.upload.isFinished || size >= row.upload.offset else { throw FileRefusal.damaged }
    // Other uploads may have filled the disk since the upload began. An upload that cannot finish is refused before
    // it is sent.
    if !row.upload.isFinished {
      try files.checkRoom(for: row.upload.length.map { $0 - row.upload.offset } ?? bytes)
    }
    // The bytes after the last commit before a crash may have holes.
    guard row.upload.isFinished || ftruncate(descriptor, off_t(row.upload.offset)) == 0 else {
      throw AccountFiles.failure("cut")
    }
    start = row.upload.offset
    state = Locked(State(upload: row.upload, end: start, reserved: start))
    file = row.file
    self.files = files
    self.descriptor = descriptor
  }

  deinit { close() }

  static func close(_ descriptor: Int32) {
    #if canImport(Glibc)
      _ = Glibc.close(descriptor)
    #elseif canImport(Musl)
      _ = Musl.close(descriptor)
    #else
      _ = Darwin.close(descriptor)
    #endif
  }

  var upload: StoredUpload { state.withLock { $0.upload } }

  /// Makes the first reservation, and releases reservations that a crash left.
  func begin(reserving bytes: Int64, quota: Int64) async throws {
    let upload = upload
    guard upload.length == nil else { return }
    let end = start + bytes
    try await files.database.write { connection in
      let writer = FileTablesWriter(connection: connection)
      try writer.count(upload.id, upTo: end)
      if bytes > 0 { try writer.check(upload.userId, quota: quota) }
    }
    state.withLock { $0.reserved = end }
  }

  func reserve(_ bytes: Int64, quota: Int64) throws {
    let end = start + bytes
    let (upload, reserved) = state.withLock { ($0.upload, $0.reserved) }
    guard upload.length == nil, end > reserved else { return }
    try files.database.write { connection in
      let writer = FileTablesWriter(connection: connection)
      try writer.count(upload.id, upTo: end)
      try writer.check(upload.userId, quota: quota)
    }
    state.withLock { $0.reserved = end }
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws {
    try state.withLock { state in
      guard !state.isClosed, !state.upload.isFinished else { throw FileRefusal.gone }
      // Checked each time, because many concurrent uploads may use the space that each of them found at its
      // beginning.
      try files.checkRoom(for: Int64(bytes.count))
      var written = 0
      while written < bytes.count {
        let count = pwrite(
          descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written, off_t(state.end))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw AccountFiles.failure("write") }
        written += count
        state.end += Int64(count)
      }
    }
  }

  func commit(at time: Int64, expiry: Int64, quota: Int64, claims: [ContentClaim]) throws {
    var upload = upload
    guard !upload.isFinished else { return }
    let reserved = state.withLock { $0.reserved }
    upload.offset = state.withLock { $0.end }
    upload.expiry = expiry
    guard Files.sync(descriptor) else { throw AccountFiles.failure("sync") }
    if upload.offset == upload.length { upload.isFinished = true }
    let proof = upload.isFinished ? try prove(upload.name, claims) : nil
    do {
      try files.database.write { [upload] connection in
        let writer = FileTablesWriter(connection: connection)
        guard try writer.tables.upload(upload.id) != nil else { throw FileRefusal.gone }
        if let proof {
          try writer.finish(upload, file: file, proof, at: time)
        } else {
          try writer.setOffset(upload, countedUpTo: max(upload.offset, reserved))
        }
        if upload.length == nil { try writer.check(upload.userId, quota: quota) }
      }
    } catch {
      // Refused bytes were never committed.
      if !(error is FileRefusal) { state.withLock { $0.mayCountMore = true } }
      throw error
    }
    state.withLock { $0.upload = upload }
  }

  /// Compares the whole file with the data of its records.
  /// - Throws: ``FileRefusal`` with `mismatch` if it is another content.
  private func prove(_ name: ContentName, _ claims: [ContentClaim]) throws -> VerifiedContent {
    let proof = try VerifiedContent(
      ofFileAt: files.path(of: file), name, sha256: try VerifiedContent.sha256(of: descriptor), claims: claims)
    guard !proof.isRefuted else { throw FileRefusal.mismatch }
    return proof
  }

  func close() {
    giveBackReservation()
    state.withLock { state in
      guard !state.isClosed else { return }
      state.isClosed = true
      if !state.upload.isFinished, !state.mayCountMore, state.end > state.upload.offset {
        // Only saves space, because the next writer truncates it as well.
        _ = ftruncate(descriptor, off_t(state.upload.offset))
      }
      Self.close(descriptor)
    }
  }

  /// Releases the reservation while the file is still locked, because the next writer makes its own.
  private func giveBackReservation() {
    let (upload, reserved, isClosed) = state.withLock { ($0.upload, $0.reserved, $0.isClosed) }
    guard !isClosed, upload.length == nil, reserved > upload.offset else { return }
    // Where it fails, as after a crash, it stays reserved until the next writer opens or the upload expires.
    try? files.database.write { try FileTablesWriter(connection: $0).count(upload.id, upTo: upload.offset) }
  }
}
