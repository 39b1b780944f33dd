extension Connection {
  /// A step of a verification.
  public enum VerificationStep: Sendable {
    /// Authenticates every page of the copy.
    case pages
    /// Checks the structure of the pages.
    case structure
    /// Compares the rows; the value is the number of compared rows.
    case rows(Int)
  }

  /// Opens a copy of this database and checks that it is intact and has the same content.
  /// - Parameter progress: called before each step and at intervals while rows are compared. It may throw to end the
  ///   verification.
  /// - Returns: the problem of the copy, or `nil`.
  /// - Throws: ``SQLError`` if the copy cannot be opened or read.
  public final func problem(
    withCopyAt path: String, key: any EncryptionKey, progress: (VerificationStep) throws -> Void = { _ in }
  ) throws -> String? {
    // The pages are read once each, so that a large cache would only be memory.
    var configuration = Configuration()
    configuration.pageCacheBytes = 2 << 20
    let copy = try Connection(path: path, key: key, configuration: configuration)
    try progress(.pages)
    if let problem = try copy.problems(found: .pages, limit: 1).first { return problem }
    try progress(.structure)
    // The rows are compared with rows that have passed their CHECKs.
    try copy.pragma("PRAGMA ignore_check_constraints = ON")
    let problems = try copy.problems(found: .structure)
    // A problem that the original has too, such as a value that violates a newer rule, is not a problem of the copy.
    if !problems.isEmpty {
      let known = Set(try self.problems(found: .structure))
      if let problem = problems.first(where: { !known.contains($0) }) { return problem }
    }
    try progress(.rows(0))
    return try firstDifference(from: copy) { try progress(.rows($0)) }
  }
}
