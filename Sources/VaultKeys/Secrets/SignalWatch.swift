import CPlatform
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The descriptor that the handler writes to; -1 without a watch. It is initialised before a handler is installed,
/// and reading it takes no lock, so the handler may use it.
private let wakeUp = Atomic<Int32>(-1)

/// Converts signals that would leave a terminal without echo into bytes on a pipe.
///
/// The handler only calls write(2), which is safe in a signal handler on any thread. Signals that were ignored before
/// (nohup) stay ignored.
struct SignalWatch: ~Copyable {
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]

  private var saved: [(number: Int32, action: sigaction)] = []
  private let readEnd: Int32
  private let writeEnd: Int32

  init() throws(KeyError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw .reading("a pipe for signals", .last) }
    readEnd = ends[0]
    writeEnd = ends[1]
    for end in ends {
      _ = cplatform_fcntl(end, F_SETFD, FD_CLOEXEC)
      // A full pipe must never block the handler.
      _ = cplatform_fcntl(end, F_SETFL, O_NONBLOCK)
    }
    wakeUp.store(writeEnd, ordering: .sequentiallyConsistent)
    for number in SignalWatch.signals {
      if let before = SignalAction.install(SignalWatch.handler, for: number) { saved.append((number, before)) }
    }
  }

  /// Restores the old actions of the signals and closes the pipe. Call it once.
  mutating func end() {
    for (number, action) in saved { SignalAction.restore(action, for: number) }
    saved = []
    wakeUp.store(-1, ordering: .sequentiallyConsistent)
    _ = close(readEnd)
    _ = close(writeEnd)
  }

  /// Waits until `descriptor` is readable or a signal arrives. Returns the number of the signal, or `nil` for input.
  func waitForInput(of descriptor: Int32) throws(KeyError) -> Int32? {
    while true {
      let ready = cplatform_wait_readable(readEnd, descriptor)
      if ready < 0 {
        if errno == EINTR { continue }
        throw .reading("the terminal", .last)
      }
      var number: UInt8 = 0
      if ready & 1 != 0, read(readEnd, &number, 1) == 1 { return Int32(number) }
      if ready & 2 != 0 { return nil }
    }
  }

  /// Raises the signal with its old action. Returns after it has taken effect, if the process still runs.
  ///
  /// The threads of dispatch queues and of tasks block signals: a signal raised there would stay pending.
  static func deliver(_ number: Int32) {
    var only = sigset_t()
    var before = sigset_t()
    sigemptyset(&only)
    sigaddset(&only, number)
    _ = pthread_sigmask(SIG_UNBLOCK, &only, &before)
    raise(number)
    _ = pthread_sigmask(SIG_SETMASK, &before, nil)
  }

  private static let handler: @convention(c) (Int32) -> Void = { number in
    let before = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(wakeUp.load(ordering: .relaxed), &byte, 1)
    errno = before
  }
}
