import FieldVault

func makeWorker(for vault: Vault, signIn: @escaping TokenProvider) throws -> SyncWorker {
  let transport = try HTTPTransport(vault: vault, tokenProvider: signIn)
  let remote = FieldVaultRemote(transport: transport)
  return SyncWorker(vault: vault, remote: remote, monitor: NetworkMonitor(remote: remote, address: transport.address))
}
