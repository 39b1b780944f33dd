import SyncModel

/// What an operation says about the rows that it will need, before it is checked.
public struct OperationOutline: Sendable {
  /// The idempotency key.
  let key: String
  /// The record; `nil` if the operation names none.
  let record: RecordName?
  /// The records that the fields reference by UUID.
  let referenced: [RecordName]
  /// The fields that the operation sets.
  let fields: SyncObject
  /// The server id that the operation names for the record that it creates.
  let serverId: Int64?
  /// Whether the operation creates the record.
  let isCreation: Bool
  /// Whether the operation deletes or restores the record.
  let changesDeletion: Bool

  /// Creates an outline from its parts.
  public init(
    key: String, record: RecordName?, referenced: [RecordName] = [], fields: SyncObject = [:], serverId: Int64? = nil,
    isCreation: Bool = false, changesDeletion: Bool = false
  ) {
    (self.key, self.record, self.referenced, self.fields) = (key, record, referenced, fields)
    (self.serverId, self.isCreation, self.changesDeletion) = (serverId, isCreation, changesDeletion)
  }
}
