/// How a process ended.
package enum Ending: Equatable, Sendable, CustomStringConvertible {
  case exit(Int32)
  case signal(Int32)

  /// Reads a status of `waitpid`: the low seven bits are the signal, the next eight the exit code.
  init(waitStatus status: Int32) {
    self = status & 0x7f == 0 ? .exit(status >> 8 & 0xff) : .signal(status & 0x7f)
  }

  /// The exit code, or 128 plus the signal, as a shell reports it.
  package var status: Int32 {
    switch self {
    case .exit(let code): code
    case .signal(let number): 128 + number
    }
  }

  package var description: String {
    switch self {
    case .exit(let code): "exit code \(code)"
    case .signal(let number): "signal \(number)"
    }
  }
}
