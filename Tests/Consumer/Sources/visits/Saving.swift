import FieldVault

func save(_ visit: Visit, with worker: SyncWorker) async throws -> String {
  let (_, outcome) = try await worker.save(within: .seconds(5)) { db in try db.insert(visit) }
  switch outcome {
  case .sent: return "Saved."
  case .savedOffline(let why): return "Saved on this device and queued: \(why)."
  case .refused(let message, _): return "Saved on this device, but the server refused it: \(message)"
  case .conflict: return "Saved on this device. A conflict needs a decision."
  }
}
