/// A mistake in a file that the compiler read, in the format of build systems.
public struct CompilerProblem: Error, Sendable, CustomStringConvertible {
  /// The path of the file.
  public let path: String
  /// Counted from 1.
  public let line: Int
  /// Counted from 1.
  public let column: Int
  /// The problem and a valid form.
  public let message: String

  /// Creates a problem at a place.
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - line: counted from 1.
  ///   - column: counted from 1.
  ///   - message: the problem and a valid form.
  public init(path: String, line: Int, column: Int = 1, message: String) {
    (self.path, self.line, self.column, self.message) = (path, line, column, message)
  }

  /// `path:line:column: error: message`.
  public var description: String { "\(path):\(line):\(column): error: \(message)" }
}

/// All mistakes of one run.
public struct CompilerProblems: Error, Sendable, CustomStringConvertible {
  /// The mistakes, in the order in which they were found.
  public let problems: [CompilerProblem]

  /// Combines the problems of a run in the order in which they are reported.
  public init(_ problems: [CompilerProblem]) { self.problems = problems }

  /// The mistakes, one per line.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}
