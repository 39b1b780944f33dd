import CPlatform
import CommandLineKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Why a process could not be started.
struct StartError: Error {
  let exitCode: ExitCode
  let message: String
  let hint: String?

  init(exitCode: ExitCode = .failed, message: String, hint: String? = nil) {
    (self.exitCode, self.message, self.hint) = (exitCode, message, hint)
  }

  /// The error of a failed system call.
  init(_ action: String, _ number: Int32) {
    self.init(message: "cannot \(action): \(String(cString: strerror(number)))")
  }
}

/// The preparation of a child process.
enum ChildStart {
  /// Creates a pipe whose ends no child inherits.
  static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    #if canImport(Darwin)
      let made = Darwin.pipe(&ends)
    #elseif canImport(Musl)
      let made = Musl.pipe(&ends)
    #else
      let made = Glibc.pipe(&ends)
    #endif
    guard made == 0 else { throw StartError("create a pipe", errno) }
    for end in ends { _ = cplatform_fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
