#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif
import CipherSQL
import Dispatch

/// Tells when somebody writes to a database, this process or another, without asking over and over.
///
/// The system tells of bytes in the write-ahead log. Their commit can be seen only after they have been synced to disk, in
/// memory that the system does not watch. So it is told again a little later, and some times more for slow disks.
///
/// `@unchecked Sendable` holds because the source is only cancelled, which Dispatch allows from any thread.
final class DatabaseWatch: @unchecked Sendable {
  private let source: any DispatchSourceProtocol
  private static let delays: [DispatchTimeInterval] = [
    .milliseconds(20), .milliseconds(100), .milliseconds(500), .seconds(2), .seconds(8),
  ]

  #if os(Linux)
    /// Watches the folder of the database with inotify: the write-ahead log is written there.
    init(_ database: String, _ wrote: @escaping @Sendable () -> Void) throws {
      let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
      guard descriptor >= 0 else { throw WatchFailure(errno) }
      let folder = database.lastIndex(of: "/").map { String(database[..<$0]) } ?? "."
      guard inotify_add_watch(descriptor, folder, UInt32(IN_MODIFY)) >= 0 else {
        let failure = WatchFailure(errno)
        close(descriptor)
        throw failure
      }
      let echo = Echo(Self.delays, wrote)
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
      source.setEventHandler {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
          while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        }
        echo.begin()
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
      let echo = Echo(Self.delays, wrote)
      let source = DispatchSource.makeFileSystemObjectSource(
        fileDescriptor: descriptor, eventMask: [.write, .extend], queue: .global())
      source.setEventHandler { echo.begin() }
      source.setCancelHandler { close(descriptor) }
      source.resume()
      self.source = source
    }
  #endif

  func stop() { source.cancel() }

  deinit { source.cancel() }
}

/// Calls back some times after something has happened, and begins anew when it happens once more.
private final class Echo: Sendable {
  private struct State {
    /// Which of the delays is waited for; nil for none.
    var step: Int?
    /// Counts up when a wait is given up for a shorter one.
    var chain = 0
  }
  private let state = Locked(State())
  private let delays: [DispatchTimeInterval]
  private let call: @Sendable () -> Void

  init(_ delays: [DispatchTimeInterval], _ call: @escaping @Sendable () -> Void) {
    (self.delays, self.call) = (delays, call)
  }

  func begin() {
    let chain = state.withLock { state -> Int? in
      // The shortest wait is short enough for what comes meanwhile: it is followed by the others.
      if state.step == 0 { return nil }
      state.step = 0
      state.chain += 1
      return state.chain
    }
    if let chain { wait(delays[0], chain) }
  }

  private func wait(_ delay: DispatchTimeInterval, _ chain: Int) {
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in self?.ring(chain) }
  }

  private func ring(_ chain: Int) {
    let (isOurs, delay) = state.withLock { state -> (Bool, DispatchTimeInterval?) in
      guard state.chain == chain, let step = state.step else { return (false, nil) }
      state.step = step + 1 < delays.count ? step + 1 : nil
      return (true, state.step.map { delays[$0] })
    }
    guard isOurs else { return }
    call()
    if let delay { wait(delay, chain) }
  }
}

/// The system does not tell about writes.
struct WatchFailure: Error, CustomStringConvertible {
  let description: String

  init(_ reason: Int32) {
    description = "the system cannot watch the database for writes: " + String(cString: strerror(reason))
  }
}
