/// A mistake in a file that the compiler read, in the form that build systems understand.
public struct CompilerProblem: Error, Sendable, CustomStringConvertible {
  /// The path of the file.
  public let path: String
  /// Counted from 1.
  public let line: Int
  /// Counted from 1.
  public let column: Int
  /// What is wrong and what would be right.
  public let message: String

  public init(path: String, line: Int, column: Int = 1, message: String) {
    (self.path, self.line, self.column, self.message) = (path, line, column, message)
  }

  public var description: String { "\(path):\(line):\(column): error: \(message)" }
}

/// All mistakes of one run.
public struct CompilerProblems: Error, Sendable, CustomStringConvertible {
  public let problems: [CompilerProblem]

  public init(_ problems: [CompilerProblem]) { self.problems = problems }

  public var description: String { problems.map(\.description).joined(separator: "\n") }
}
