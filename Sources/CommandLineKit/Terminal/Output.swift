import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A buffered writer to a descriptor, such as standard output.
///
/// A terminal receives every write at once. A file or pipe receives large blocks, the last one with ``flush()``. A
/// failed write throws ``OutputError``. Output is complete only after a successful flush.
///
/// Can be used from any thread. Each write stays in one piece.
public final class Output: Sendable {
  /// The descriptor of the destination.
  public let descriptor: Int32
  /// The kind of the destination.
  public let terminal: Terminal
  private let buffer: Locked<[UInt8]>
  private let limit: Int

  /// Creates a writer to an open descriptor, which it does not close.
  public init(descriptor: Int32, terminal: Terminal? = nil, limit: Int = 64 * 1024) {
    let terminal = terminal ?? Terminal(descriptor: descriptor)
    self.descriptor = descriptor
    self.terminal = terminal
    self.limit = terminal.isTerminal ? 0 : limit
    buffer = Locked([])
  }

  /// Writes text for users. Characters that would control a terminal or are invisible are escaped in any text. Line
  /// breaks and styles stay.
  public func write(_ text: String) throws(OutputError) {
    let text = presentable(text, hasColours: terminal.hasColours)
    try append { $0.append(contentsOf: text.utf8) }
  }

  /// Writes bytes unchanged.
  public func write(_ bytes: some Sequence<UInt8>) throws(OutputError) {
    try append { $0.append(contentsOf: bytes) }
  }

  /// Writes text for users and a line feed; see ``write(_:)``.
  public func line(_ text: String = "") throws(OutputError) { try write(text + "\n") }

  /// Writes the content of the buffer.
  public func flush() throws(OutputError) {
    try buffer.withLock { buffer throws(OutputError) in try drain(&buffer) }
  }

  private func append(_ change: (inout [UInt8]) -> Void) throws(OutputError) {
    try buffer.withLock { buffer throws(OutputError) in
      change(&buffer)
      if buffer.count > limit { try drain(&buffer) }
    }
  }

  private func drain(_ buffer: inout [UInt8]) throws(OutputError) {
    // Dropped even when writing fails, so that nothing is written twice or grows without end.
    defer { buffer.removeAll(keepingCapacity: buffer.capacity <= 4 * limit) }
    try writeAll(buffer, to: descriptor)
  }
}

/// Writes all of the bytes, in several calls if necessary.
func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(OutputError) {
  var start = 0
  while start < bytes.count {
    let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress?.advanced(by: start), $0.count - start) }
    if written >= 0 {
      start += written
      continue
    }
    switch errno {
    case EINTR: continue
    case EAGAIN:
      // Another process may have made a shared descriptor non-blocking.
      var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      _ = poll(&wait, 1, -1)
    case let code: throw OutputError(code)
    }
  }
}

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
