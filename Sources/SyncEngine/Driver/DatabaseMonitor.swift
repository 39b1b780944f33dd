#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif
import Dispatch
import Platform

/// Reports writes to a database until it is stopped.
package protocol WriteMonitor: Sendable {
  /// Ends the reports.
  func stop()
}

/// Reports writes to a database, by this process or another, without polling.
///
/// `@unchecked Sendable` holds because the source is only cancelled, which Dispatch allows from any thread.
final class DatabaseMonitor: WriteMonitor, @unchecked Sendable {
  private let source: any DispatchSourceProtocol

  #if os(Linux)
    /// Watches the folder of the database with inotify: it contains the write-ahead log.
    init(_ database: String, _ wrote: @escaping @Sendable () -> Void) throws {
      let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
      guard descriptor >= 0 else { throw WatchFailure(errno) }
      guard inotify_add_watch(descriptor, Files.parent(of: database), UInt32(IN_MODIFY)) >= 0 else {
        let failure = WatchFailure(errno)
        close(descriptor)
        throw failure
      }
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
      source.setEventHandler {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
          while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        }
        wrote()
      }
      source.setCancelHandler { close(descriptor) }
      source.resume()
      self.source = source
    }
  #else
    /// Watches the write-ahead log.
    init(_ database: String, _ wrote: @escaping @Sendable () -> Void) throws {
      let descriptor = open(database + "-wal", O_EVTONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw WatchFailure(errno) }
      let source = DispatchSource.makeFileSystemObjectSource(
        fileDescriptor: descriptor, eventMask: [.write, .extend], queue: .global())
      source.setEventHandler(handler: wrote)
      source.setCancelHandler { close(descriptor) }
      source.resume()
      self.source = source
    }
  #endif

  func stop() { source.cancel() }

  deinit { source.cancel() }
}

/// The failure to watch the database for writes.
struct WatchFailure: Error, CustomStringConvertible {
  let description: String

  init(_ reason: Int32) {
    description = "the system cannot watch the database for writes: " + String(cString: strerror(reason))
  }
}
