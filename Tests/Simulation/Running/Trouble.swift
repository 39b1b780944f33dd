import Foundation

/// Something that must always hold and does not.
struct Violation: Error, CustomStringConvertible {
  /// The number of the violated invariant.
  let statement: Int
  let details: [String]

  init(_ statement: Int, _ details: [String]) {
    self.statement = statement
    self.details = details
  }

  init(_ statement: Int, _ detail: String) { self.init(statement, [detail]) }

  var description: String { "statement \(statement) is broken:\n  " + details.joined(separator: "\n  ") }
}

/// Writes a line at once.
func say(_ text: String) {
  var bytes = Array((text + "\n").utf8)[...]
  while !bytes.isEmpty {
    let count = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    if count > 0 {
      bytes = bytes.dropFirst(count)
    } else if errno != EINTR {
      // The reader, such as head(1), has seen enough. This is the code that a shell reports for SIGPIPE.
      exit(errno == EPIPE ? 141 : 3)
    }
  }
}
