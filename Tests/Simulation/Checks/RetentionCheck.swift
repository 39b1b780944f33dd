import CipherSQL
import SyncModel

/// A server keeps deletions and responses for the time of retention, whatever its clock shows.
struct RetentionCheck {
  /// The 90 days that the server is started with, in microseconds.
  static let retention: Int64 = 90 * 86_400_000_000

  let marks: [RetentionMark]
  /// The shortest time for which the server has to keep data. The time of retention runs at most twice as fast as real time
  /// while it approaches a clock that was set forward.
  let least: Int64
  let operations: [String: PushOperation]

  init(_ circumstances: Circumstances) {
    marks = circumstances.retention
    operations = circumstances.operations
    least = circumstances.setsServerForward ? Self.retention / 2 : Self.retention
  }

  func check(_ server: Connection) throws {
    guard !marks.isEmpty else { return }
    let deletions = try server.fetchRows(
      """
      SELECT number, history, entityType || ' ' || entityUuid FROM SimulationForgotten
      JOIN SimulationHistory USING (history)
      """, as: Int64.self, Int64.self, String.self)
    for (number, version, name) in deletions {
      try check("deletion of \(name)", stored: version, until: marks.first { $0.deletions >= number })
    }
    let responses = try server.fetchRows(
      "SELECT number, idempotencyKey, answer FROM SimulationAnswer", as: Int64.self, String.self, String.self)
    for (number, key, text) in responses {
      guard let operation = operations[key], case .object(let response) = try SyncValue(parsing: text),
        case .integer(let version)? = response["version"],
        let stored = try server.fetchOne(
          """
          SELECT min(history) FROM SimulationHistory WHERE entityUuid = \(operation.entityUuid) AND version = \(version)
          """, as: Int64?.self) ?? nil
      else { continue }
      try check(
        "response about \(operation.entityType) \(operation.entityUuid)", stored: stored,
        until: marks.first { $0.answers >= number })
    }
  }

  private func check(_ name: String, stored version: Int64, until forgotten: RetentionMark?) throws {
    guard let forgotten, let before = marks.last(where: { $0.versions < version }) else { return }
    guard forgotten.time - before.time < least else { return }
    throw Violation(
      6,
      [
        "the server forgot the \(name) after less than \((forgotten.time - before.time) / 86_400_000_000 + 1) days, "
          + "of at least \(least / 86_400_000_000)"
      ])
  }
}
