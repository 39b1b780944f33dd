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
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
