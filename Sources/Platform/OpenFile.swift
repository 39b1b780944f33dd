#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file that is read or written sequentially. Its errors name the path.
package final class OpenFile {
  /// The path that the file was opened with.
  package let path: String
  private let file: Descriptor

  /// The descriptor, valid while this value exists.
  package var number: Int32 { file.number }

  /// Opens a file for reading.
  package init(reading path: String) throws(FileError) {
    self.path = path
    let isRegular: Bool
    do throws(Descriptor.Failure) {
      file = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
      isRegular = try file.isRegular()
    } catch {
      throw FileError("read", path, error)
    }
    guard isRegular else { throw FileError(.unreadable, "cannot read \(path): not a file", path: path) }
  }

  /// Creates a file with mode 0600 at a free path.
  package init(creating path: String) throws(FileError) {
    self.path = path
    do throws(Descriptor.Failure) {
      file = try Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    } catch {
      throw FileError("make", path, error)
    }
  }

  /// Returns the size in bytes.
  package func size() throws(FileError) -> Int {
    do throws(Descriptor.Failure) { return try file.size() } catch { throw FileError("read", path, error) }
  }

  /// Fills the buffer up to the end of the file. Returns the number of bytes.
  package func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int {
    var done = 0
    while done < buffer.count {
      let count: Int
      do throws(Descriptor.Failure) {
        count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]))
      } catch {
        throw FileError("read", path, error)
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Returns the whole content of a small file. Not for secrets.
  package func content() throws(FileError) -> [UInt8] {
    let size = try size()
    var failure: FileError?
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      do throws(FileError) { count = try fill(UnsafeMutableRawBufferPointer(buffer)) } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Writes all bytes.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    do throws(Descriptor.Failure) { try file.write(bytes) } catch { throw FileError("write", path, error) }
  }

  /// Writes all bytes.
  package func write(_ bytes: [UInt8]) throws(FileError) {
    try bytes.withBytes { buffer throws(FileError) in try write(buffer) }
  }

  /// Flushes the content to the disk.
  package func synchronize() throws(FileError) {
    do throws(Descriptor.Failure) { try file.synchronize() } catch { throw FileError("sync", path, error) }
  }

  /// Locks the file for this process; returns `false` if another process has the lock.
  package func lock() -> Bool { flock(file.number, LOCK_EX | LOCK_NB) == 0 }
}
