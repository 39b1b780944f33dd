import FieldVault

func openVault(at path: String, passphrase: SecureBytes) throws -> Vault {
  try Vault.open(at: path, with: .passphrase(passphrase), creating: [VisitsSchema.schema])
}

func makeWorker(for vault: Vault, api: String, token: String, routes: String) throws -> SyncWorker {
  let address = try ServerAddress(api)  // https, or this machine
  try vault.setRemote(url: address.description, token: token, routes: try RouteFile.routes(json: routes, for: vault))
  let transport = HTTPTransport(address: address) { token }
  let remote = RestRemote(transport: transport, file: try RouteFile(json: routes), vault: vault)
  return SyncWorker(vault: vault, remote: remote, monitor: NetworkMonitor(remote: remote, address: address))
}
