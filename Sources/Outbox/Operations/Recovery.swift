import CipherSQL
import SyncModel

extension SyncTransaction {
  /// Returns the operations in flight to the outbox after a crash. They are sent again with the same payload under the same key, and
  /// the server recognises an operation that it has stored.
  package func recover() throws {
    for operation in try QueuedOperation.all(where: "status = 'processing'", [], in: connection) {
      try outbox.apply(.lostResponse, to: operation)
    }
    try connection.execute("UPDATE SyncRun SET outcome = 'interrupted' WHERE outcome = 'running'")
  }

  /// Returns operations without a response to the outbox. No attempt is counted.
  /// - Parameter wasSent: `false` if the operations certainly did not leave this device.
  package func release(_ operationIds: [String], wasSent: Bool = true) throws {
    for id in operationIds {
      let operations = try QueuedOperation.all(
        where: "operationId = ? AND status = 'processing'", [.text(id)], in: connection)
      for operation in operations {
        try outbox.apply(wasSent ? .lostResponse : .notSent(isRecordDeleted: isDeleted(operation)), to: operation)
      }
    }
  }

  private func isDeleted(_ operation: QueuedOperation) throws -> Bool {
    let record = try catalog.tables[operation.entityType]?.find(key: operation.entityId, in: connection)
    return record?.state.isDeleted ?? true
  }
}
