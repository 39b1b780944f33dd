import FieldVault

func makeWorker(for vault: Vault, server: String, token: String) throws -> SyncWorker {
  let address = try ServerAddress(server)  // https, or this machine
  try vault.setRemote(url: address.description, token: token)
  let remote = FieldVaultRemote(transport: HTTPTransport(address: address) { token })
  return SyncWorker(vault: vault, remote: remote, monitor: NetworkMonitor(remote: remote, address: address))
}

func syncOnce(_ worker: SyncWorker) async throws {
  let report = try await worker.sync()
  if let failure = report.failure { print(failure) }  // report.outcome: .offline, .paused, .failed
}

func syncAllDay(_ worker: SyncWorker) async throws {
  let events = worker.events
  let listening = Task {
    for await event in events {
      if case .conflict(let count) = event { print("\(count) to decide") }
    }
  }
  defer { listening.cancel() }
  try await worker.run()  // until the task is cancelled
}
