/// Something that a check of a vault found.
public struct Finding: Sendable, Hashable {
  /// How much it matters.
  public enum Severity: String, Sendable {
    /// Good to know; nothing is wrong.
    case note
    /// Something is not as it should be, and what was recorded is whole.
    case warning
    /// A file is not what was written.
    case damage
  }

  /// How much it matters: a note, a warning or damage.
  public let severity: Severity
  /// A short word for the check, which stays the same from version to version, such as `pages`.
  public let check: String
  /// What was found.
  public let what: String
  /// What it means for the data.
  public let meaning: String
  /// The next command or act.
  public let next: String

  /// A finding in the words that a person will read.
  /// - Parameters:
  ///   - severity: how much it matters.
  ///   - check: a short word for the check, such as `pages`.
  ///   - what: what was found.
  ///   - meaning: what it means for the data.
  ///   - next: the next command or act.
  public init(_ severity: Severity, _ check: String, what: String, meaning: String, next: String) {
    (self.severity, self.check) = (severity, check)
    (self.what, self.meaning, self.next) = (what, meaning, next)
  }
}

/// What a check of a vault came to.
public struct Diagnosis: Sendable {
  /// What was found, in the order of the checks.
  public internal(set) var findings: [Finding] = []
  /// What was checked, in words.
  public internal(set) var checked: [String] = []
  /// What could not be checked, in words.
  public internal(set) var unchecked: [String] = []

  /// True when there is nothing that a person has to see to.
  public var isOK: Bool { findings.allSatisfy { $0.severity == .note } }
  /// True when a file is not what was written.
  public var isDamaged: Bool { findings.contains { $0.severity == .damage } }

  /// The findings of one check.
  public func findings(_ check: String) -> [Finding] { findings.filter { $0.check == check } }

  mutating func add(
    _ severity: Finding.Severity, _ check: String, _ what: String, meaning: String, next: String
  ) {
    findings.append(Finding(severity, check, what: what, meaning: meaning, next: next))
  }
}
