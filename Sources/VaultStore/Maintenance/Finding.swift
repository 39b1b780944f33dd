import SyncModel

/// A result of a check of a vault.
public struct Finding: Sendable, Hashable {
  /// The severity of a finding.
  public enum Severity: String, Sendable {
    /// Information without a problem.
    case note
    /// A problem that has not damaged any recorded data.
    case warning
    /// A file is not as it was written.
    case damage
  }

  /// The severity.
  public let severity: Severity
  /// The short name of the check, such as `pages`. It is stable across versions.
  public let check: String
  /// The description of the finding.
  public let what: String
  /// The consequence for the data.
  public let meaning: String
  /// The next action.
  public let next: Remedy

  /// Creates a finding with texts for the user.
  /// - Parameters:
  ///   - severity: the severity.
  ///   - check: the short name of the check, such as `pages`.
  ///   - what: the description of the finding.
  ///   - meaning: the consequence for the data.
  ///   - next: the next action.
  public init(_ severity: Severity, _ check: String, what: String, meaning: String, next: Remedy) {
    (self.severity, self.check) = (severity, check)
    (self.what, self.meaning, self.next) = (what, meaning, next)
  }
}

/// The result of a check of a vault.
public struct Diagnosis: Sendable {
  /// The findings, in the order of the checks.
  public internal(set) var findings: [Finding] = []
  /// Descriptions of the completed checks.
  public internal(set) var checked: [String] = []
  /// Descriptions of the parts that could not be checked.
  public internal(set) var unchecked: [String] = []

  /// Whether no finding needs the user's attention: all findings are notes.
  public var isOK: Bool { findings.allSatisfy { $0.severity == .note } }
  /// Whether a file is not as it was written.
  public var isDamaged: Bool { findings.contains { $0.severity == .damage } }

  /// Returns the findings of one check.
  public func findings(_ check: String) -> [Finding] { findings.filter { $0.check == check } }

  mutating func add(
    _ severity: Finding.Severity, _ check: String, _ what: String, meaning: String, next: Remedy
  ) {
    findings.append(Finding(severity, check, what: what, meaning: meaning, next: next))
  }
}
