import CPlatform
import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The handling of signals that stop the process.
///
/// The first SIGINT or SIGTERM calls a closure on a separate queue, where any code may run. The program then ends in an
/// orderly way. A second signal ends the process at once, with 128 plus the number of the signal. A signal that was
/// ignored from the start, as under `nohup`, stays ignored.
///
/// SIGHUP ends a program that does not handle it. Long-running programs use ``onHangUp(_:)``.
///
/// Child processes do not inherit the handlers: they have the default action of every signal.
public enum Signals {
  /// The received signal.
  public enum Signal: Sendable {
    /// SIGINT: Control-C.
    case interrupt
    /// SIGTERM: the system or a service manager.
    case terminate
  }

  /// Has writing to a closed pipe reported as ``OutputError/Kind/closed`` and not end the process.
  ///
  /// It is an empty handler and not SIG_IGN, which a child would inherit.
  public static func ignoreBrokenPipe() {
    install(SIGPIPE) { _ in }
  }

  /// Calls a closure once when the process is asked to stop. Call it once, at the start of the program.
  public static func onStop(_ action: @escaping @Sendable (Signal) -> Void) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return }
    for end in ends { setCloseOnExec(end) }
    writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
    let read = ends[0]
    DispatchQueue(label: "signals").async {
      // Waits here for as long as the process lives, or until a signal comes.
      guard let number = readByte(read) else { return }
      action(Int32(number) == SIGINT ? .interrupt : .terminate)
    }
    for number in [SIGINT, SIGTERM] where !isIgnored(number) { install(number, handleStop) }
  }

  /// Calls back for each SIGHUP, which does not end the process from then on. To be called once, at the start of the
  /// program.
  public static func onHangUp(_ action: @escaping @Sendable () -> Void) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return }
    for end in ends { setCloseOnExec(end) }
    hangUpEnd.store(ends[1], ordering: .sequentiallyConsistent)
    let read = ends[0]
    DispatchQueue(label: "hang-up").async {
      while readByte(read) != nil { action() }
    }
    if !isIgnored(SIGHUP) { install(SIGHUP, handleHangUp) }
  }
}

/// The pipe that the handler writes to, and how many signals came: all that a handler may safely touch.
private let writeEnd = Atomic<Int32>(-1)
private let arrivals = Atomic<Int>(0)

private let hangUpEnd = Atomic<Int32>(-1)

private func handleHangUp(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(hangUpEnd.load(ordering: .relaxed), &byte, 1)
  errno = saved
}

private func handleStop(_ number: Int32) {
  if arrivals.add(1, ordering: .relaxed).oldValue > 0 { _exit(128 + number) }
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(writeEnd.load(ordering: .relaxed), &byte, 1)
  errno = saved
}

// sigaction(2), whose C types differ between systems.

func install(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
  var action = sigaction()
  #if canImport(Darwin)
    action.__sigaction_u.__sa_handler = handler
  #else
    action.__sigaction_handler.sa_handler = handler
  #endif
  // Reads and writes that are under way go on.
  action.sa_flags = Int32(SA_RESTART)
  sigemptyset(&action.sa_mask)
  sigaction(number, &action, nil)
}

func isIgnored(_ number: Int32) -> Bool {
  var action = sigaction()
  guard sigaction(number, nil, &action) == 0 else { return false }
  #if canImport(Darwin)
    let handler = action.__sigaction_u.__sa_handler
  #else
    let handler = action.__sigaction_handler.sa_handler
  #endif
  // SIG_IGN is the address 1, which no function has.
  return unsafeBitCast(handler, to: UInt.self) == 1
}

func setCloseOnExec(_ descriptor: Int32) {
  _ = cplatform_fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

func readByte(_ descriptor: Int32) -> UInt8? {
  var byte: UInt8 = 0
  while true {
    let count = read(descriptor, &byte, 1)
    if count == 1 { return byte }
    if count == 0 || errno != EINTR { return nil }
  }
}
