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

  /// The result of the wire format.
  func json(operationId: String, entities: [String: EntityDescription]) -> SyncValue {
    var object: SyncObject = ["operationId": .text(operationId), "result": .text(word)]
    switch self {
    case .accepted(let record):
      object["version"] = .integer(record?.version ?? 0)
      guard let record else { break }
      object["serverId"] = .integer(record.serverId)
      object["createdAt"] = wireTime(record.createdAt)
      object["updatedAt"] = wireTime(record.state.updatedAt)
      object["editTimes"] = record.state.editTimes.isEmpty ? nil : wireTimes(record.state.editTimes)
    case .merged(let record, let lost):
      object["version"] = .integer(record.version)
      object["serverId"] = .integer(record.serverId)
      object["record"] = record.json(entities)
      object["lost"] = .array(
        lost.map { ["field": .text($0.field), "side": .text($0.side.rawValue), "value": $0.value] })
    case .conflict(let kind, let fields, let record, let other):
      var conflict: SyncObject = ["kind": .text(kind.rawValue), "fields": .array(fields.map { .text($0) })]
      conflict["other"] = other?.reference.wire
      object["conflict"] = .object(conflict)
      object["record"] = record?.json(entities) ?? .null
    case .rejected(let problem): object["problem"] = problem.json
    case .waiting(let other): object["waitsFor"] = .text(other)
    }
    return .object(object)
  }

  private var word: String {
    switch self {
    case .accepted: "accepted"
    case .merged: "merged"
    case .conflict: "conflict"
    case .rejected: "rejected"
    case .waiting: "waiting"
    }
  }
}
