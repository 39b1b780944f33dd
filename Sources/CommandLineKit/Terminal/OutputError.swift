#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The reason why output could not be written.
public struct OutputError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds that a program treats differently.
  public enum Kind: Sendable, Equatable {
    /// The reader closed the pipe, as after `| head`. The program stops silently with exit code 0, like other programs.
    case closed
    /// The disk or the quota is full.
    case noSpace
    /// Any other failure.
    case failed
  }

  /// The value of `errno`.
  public let code: Int32

  init(_ code: Int32) {
    self.code = code
  }

  /// The kind of the failure.
  public var kind: Kind {
    switch code {
    case EPIPE: .closed
    case ENOSPC, EDQUOT, EFBIG: .noSpace
    default: .failed
    }
  }

  /// The exit code of the program.
  public var exitCode: ExitCode {
    switch kind {
    case .closed: .done
    case .noSpace: .noSpace
    case .failed: .failed
    }
  }

  /// The message with the text of the system.
  public var description: String {
    "cannot write the output: \(String(cString: strerror(code)).lowercased())"
  }
}
