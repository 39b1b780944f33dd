import HTTPServer
import ServerStorage
import SyncModel

/// The outcome of an operation.
enum PushOutcome {
  /// Stored as it was sent; nil for the deletion of a record that never existed.
  case accepted(ServerRecord?)
  /// Stored together with changes that the device had not seen.
  case merged(ServerRecord, lost: [OverwrittenValue])
  /// Not stored: the user has to decide. `other` is the record that holds the UNIQUE value.
  case conflict(ConflictKind, fields: [String], ServerRecord?, other: RecordName? = nil)
  /// Not stored.
  case rejected(HTTPProblem)
  /// Not tried, because another operation of the request was not stored.
  case waiting(for: String)

  /// Whether the server has the state that the device wants.
  var isStored: Bool {
    switch self {
    case .accepted, .merged: true
    case .conflict, .rejected, .waiting: false
    }
  }

  /// Whether the response is final. An operation that may succeed later has no stored response.
  var isFinal: Bool {
    switch self {
    case .accepted, .merged, .conflict: true
    case .rejected(let problem): problem.status < 500
    case .waiting: false
    }
  }

  /// Whether a value of the operation breaks a rule of the data.
  var isBrokenRule: Bool {
    switch self {
    case .conflict(.notUnique, _, _, _): true
    case .rejected(let problem): problem.status == 422
    default: false
    }
  }

  /// The result in the wire format.
  func result(operationId: String, entities: [String: EntityDescription]) -> PushResult {
    let outcome: PushResult.Outcome =
      switch self {
      case .accepted(let record):
        .accepted(
          version: record?.version ?? 0, serverId: record.map { .integer($0.serverId) },
          times: record.map {
            RecordTimes(createdAt: $0.createdAt, updatedAt: $0.state.updatedAt, editTimes: $0.state.editTimes)
          })
      case .merged(let record, let lost): .merged(record.remote(entities), lost: lost)
      case .conflict(let kind, let fields, let record, let other):
        .conflict(kind, fields: fields, record: record?.remote(entities), other: other?.reference)
      case .rejected(let problem): .rejected(problem.problem)
      case .waiting(let other): .waiting(for: other)
      }
    return PushResult(operationId: operationId, outcome: outcome)
  }
}
