import CipherSQL
import SchemaModel
import SyncModel

/// A result of a check of a vault.
public struct Finding: Codable, Sendable, Hashable {
  /// The severity of a finding.
  public enum Severity: String, Codable, Sendable {
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
public struct Diagnosis: Codable, Sendable {
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

/// The result of the last check, with its time, as the vault stores it. A result with damage is not stored: nothing is written to a
/// damaged file.
public struct StoredDiagnosis: Codable, Sendable {
  /// The result.
  public let diagnosis: Diagnosis
  /// The end of the check, in milliseconds since 1970-01-01 UTC.
  public let endedAt: Int64

  package init(diagnosis: Diagnosis, endedAt: Int64) { (self.diagnosis, self.endedAt) = (diagnosis, endedAt) }

  private static let setting = "lastCheck"

  /// Returns the stored result; `nil` before the first check, and for a result of a version that words it differently.
  static func read(from connection: Connection) throws -> StoredDiagnosis? {
    try SettingRow.value(setting, in: connection).flatMap { try? JSONText($0).decoded() }
  }

  func write(to connection: WriteConnection) throws {
    try SettingRow.set(Self.setting, try JSONText(encoding: self).text, in: connection)
  }
}

extension Vault {
  /// Returns the last result of ``Doctor`` that is stored in this vault, or `nil`.
  public func lastDiagnosis() throws -> StoredDiagnosis? { try database.read { try StoredDiagnosis.read(from: $0) } }
}
