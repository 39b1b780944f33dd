import CipherSQL
import OfflineStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Writes to the file of one upload, which it holds locked.
final class DiskUploadWriter: UploadWriting {
  private struct State {
    var upload: StoredUpload
    /// Where the next byte goes.
    var end: Int64
    var isClosed = false
  }

  private let state: Locked<State>
  private let file: String
  private let files: AccountFiles
  private let descriptor: Int32

  /// Takes over a locked descriptor when it does not throw.
  init(_ row: FileTables.UploadRow, _ files: AccountFiles, _ descriptor: Int32) throws {
    let size = try AccountFiles.size(of: descriptor)
    guard row.upload.isFinished || size >= row.upload.offset else { throw FileRefusal.damaged }
    // Others may have filled the disk since the upload began: what cannot come to its end is not even sent.
    if !row.upload.isFinished {
      try files.checkRoom(for: (row.upload.length ?? row.upload.offset) - row.upload.offset)
    }
    // What came after the last commit before a crash may have holes.
    guard row.upload.isFinished || ftruncate(descriptor, off_t(row.upload.offset)) == 0 else {
      throw AccountFiles.failure("cut")
    }
    state = Locked(State(upload: row.upload, end: row.upload.offset))
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

  func append(_ bytes: UnsafeRawBufferPointer) throws {
    try state.withLock { state in
      guard !state.isClosed, !state.upload.isFinished else { throw FileRefusal.gone }
      // Looked at each time: many uploads together may take what was there for each of them at its beginning.
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

  func commit(at time: Int64, expiry: Int64, quota: Int64) throws {
    var upload = upload
    guard !upload.isFinished else { return }
    upload.offset = state.withLock { $0.end }
    upload.expiry = expiry
    guard Files.sync(descriptor) else { throw AccountFiles.failure("sync") }
    if upload.offset == upload.length { upload.isFinished = true }
    try files.database.write { [upload] connection in
      let writer = FileTablesWriter(connection: connection)
      guard try writer.tables.upload(upload.id) != nil else { throw FileRefusal.gone }
      if upload.isFinished {
        try writer.finish(upload, file: file, at: time)
      } else {
        try writer.setOffset(upload)
      }
      if upload.length == nil { try writer.check(upload.userId, quota: quota) }
    }
    state.withLock { $0.upload = upload }
  }

  func close() {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.isClosed = true
      if !state.upload.isFinished, state.end > state.upload.offset {
        // Only saves space: who opens the file next cuts it as well.
        _ = ftruncate(descriptor, off_t(state.upload.offset))
      }
      Self.close(descriptor)
    }
  }
}
