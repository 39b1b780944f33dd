import Platform

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

  /// A step of ``copyVerified(to:key:progress:)``.
  package enum CopyStep: Sendable {
    /// The numbers of copied pages and of all pages.
    case copying(done: Int, total: Int)
    case verifying(VerificationStep)
  }

  /// Copies the database under another key to a new file with mode 0600, makes it durable, and reads it again. The caller makes its
  /// name durable, and removes the file after an error.
  /// - Parameter progress: may throw to end the copy.
  /// - Returns: the problem of the copy, or `nil`.
  /// - Throws: ``SQLError`` with `damaged` for a page that fails its check; `FileError` if the file cannot be created or synced; the errors of ``copyPages(to:key:progress:)`` and
  ///   ``problem(withCopyAt:key:progress:)``.
  package final func copyVerified(
    to path: String, key: any EncryptionKey, progress: (CopyStep) throws -> Void = { _ in }
  ) throws -> String? {
    try Files.makeFile(path)
    do {
      try copyPages(to: path, key: key) { done, total in try progress(.copying(done: done, total: total)) }
    } catch let error as SQLError where error.code == .invalidSQL {
      // SQLCipher reports a page that fails its check during a copy as an error without a reason.
      guard let problem = try problems(found: .pages, limit: 1).first else { throw error }
      throw SQLError(.damaged, problem, hint: error.hint)
    }
    try Files.syncFile(path)
    return try problem(withCopyAt: path, key: key) { try progress(.verifying($0)) }
  }

  /// Opens a copy of this database and checks that it is intact and has the same content.
  /// - Parameter progress: called before each step and at intervals while rows are compared. It may throw to end the
  ///   verification.
  /// - Returns: the problem of the copy, or `nil`.
  /// - Throws: ``SQLError`` if the copy cannot be opened or read.
  public final func problem(
    withCopyAt path: String, key: any EncryptionKey, progress: (VerificationStep) throws -> Void = { _ in }
  ) throws -> String? {
    try problem(withCopyAt: path, key: key, isCompacted: false, progress: progress)
  }

  /// - Parameter isCompacted: whether the copy may have other page numbers.
  final func problem(
    withCopyAt path: String, key: any EncryptionKey, isCompacted: Bool,
    progress: (VerificationStep) throws -> Void = { _ in }
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
    return try firstDifference(from: copy, isCompacted: isCompacted) { try progress(.rows($0)) }
  }
}
