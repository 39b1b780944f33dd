/// The result of one operation of a push.
public struct PushResult: Equatable, Sendable {
  /// The server's action.
  public enum Outcome: Equatable, Sendable {
    /// Stored as it was sent, with these times. `version` is 0 and `serverId` nil for the deletion of a record that the
    /// server never had. Without `times` the device keeps its own.
    case accepted(version: Int64, serverId: ServerId?, times: RecordTimes? = nil)
    /// Stored together with changes that the device had not seen; `lost` are the values that gave way.
    case merged(RemoteRecord, lost: [OverwrittenValue])
    /// Not stored: the user has to decide. The record is `nil` if the server has no record. `other` names the record that
    /// holds the UNIQUE value.
    case conflict(ConflictKind, fields: [String], record: RemoteRecord?, other: RecordReference? = nil)
    /// Not stored; the problem's status says why.
    case rejected(ServerProblem)
    /// Not tried, because the operation with this id was not stored.
    case waiting(for: String)
  }

  /// The operation's id.
  public var operationId: String
  /// The server's action.
  public var outcome: Outcome

  /// The result of an operation.
  public init(operationId: String, outcome: Outcome) {
    self.operationId = operationId
    self.outcome = outcome
  }
}

extension PushResult: WireMessage {
  private enum Word: String, CaseIterable {
    case accepted, merged, conflict, rejected, waiting
  }

  /// Reads a result.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    let outcome: Outcome =
      switch try reader.word("result", Word.self) {
      case .accepted:
        .accepted(
          version: try reader.natural("version"), serverId: try reader.optional("serverId", reader.serverId),
          times: try Self.times(reader))
      case .merged:
        .merged(
          try reader.message("record"),
          lost: try reader.optional("lost") { name throws(SyncModelError) in try reader.messages(name) } ?? [])
      case .conflict: try Self.conflict(reader)
      case .rejected: .rejected(try reader.message("problem"))
      case .waiting: .waiting(for: try reader.text("waitsFor"))
      }
    self.init(operationId: try reader.text("operationId"), outcome: outcome)
  }

  private static func times(_ reader: WireReader) throws(SyncModelError) -> RecordTimes? {
    guard let createdAt = try reader.optional("createdAt", reader.time) else { return nil }
    return RecordTimes(
      createdAt: createdAt, updatedAt: try reader.time("updatedAt"), editTimes: try reader.editTimes())
  }

  private static func conflict(_ reader: WireReader) throws(SyncModelError) -> Outcome {
    let record: RemoteRecord? = try reader.optional("record") { name throws(SyncModelError) in
      try reader.message(name)
    }
    let details = try reader.object("conflict")
    do throws(SyncModelError) {
      let inner = try WireReader(.object(details))
      return .conflict(
        try inner.word("kind"), fields: try inner.names("fields"), record: record,
        other: try inner.optional("other") { name throws(SyncModelError) in try inner.message(name) })
    } catch {
      throw error.inside("conflict")
    }
  }

  /// The result in the wire format.
  public var wire: SyncValue {
    var object: SyncObject = ["operationId": .text(operationId)]
    switch outcome {
    case .accepted(let version, let serverId, let times):
      object["createdAt"] = times.map { .time($0.createdAt) }
      object["updatedAt"] = times.map { .time($0.updatedAt) }
      object["editTimes"] = times.flatMap { .editTimes($0.editTimes) }
      object["result"] = .text(Word.accepted.rawValue)
      object["version"] = .integer(version)
      object["serverId"] = serverId?.value
    case .merged(let record, let lost):
      object["result"] = .text(Word.merged.rawValue)
      object["version"] = .integer(record.state.syncVersion)
      object["serverId"] = record.serverId?.value
      object["record"] = record.wire
      object["lost"] = .array(lost.map(\.wire))
    case .conflict(let kind, let fields, let record, let other):
      object["result"] = .text(Word.conflict.rawValue)
      object["conflict"] = .object(
        SyncObject(present: [
          "fields": .array(fields.map(SyncValue.text)), "kind": .text(kind.rawValue), "other": other?.wire,
        ]))
      object["record"] = record?.wire ?? .null
    case .rejected(let problem):
      object["result"] = .text(Word.rejected.rawValue)
      object["problem"] = problem.wire
    case .waiting(let operationId):
      object["result"] = .text(Word.waiting.rawValue)
      object["waitsFor"] = .text(operationId)
    }
    return .object(object)
  }
}

extension OverwrittenValue: WireMessage {
  /// Reads a value that gave way.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(field: try reader.text("field"), side: try reader.word("side"), value: try reader.value("value"))
  }

  /// The value in the wire format.
  public var wire: SyncValue { ["field": .text(field), "side": .text(side.rawValue), "value": value] }
}
