import VaultStore
import SyncEngine
import RESTRemote
import HTTPClient

/// The way to a vault's server.
struct Server: Sendable {
  let url: String
  let remote: any Remote
  let monitor: NetworkMonitor

  /// The server of a vault.
  /// - Throws: ``SyncRefused`` with `noRemote`.
  init(of vault: Vault, limits: TransportLimits = TransportLimits()) throws {
    guard let settings = try vault.remote() else { throw SyncRefused.noRemote }
    // Whether it may do without encryption was decided when it was set.
    let address = try ServerAddress(settings.url, allowsInsecure: true)
    url = settings.url
    // Read each time, so that a worker that runs takes a new token at once; one that is for another server is not sent.
    let transport = HTTPTransport(address: address, limits: limits) { try vault.remoteToken(for: settings.url) }
    remote = try Self.remote(transport, routes: settings.routes, of: vault)
    monitor = NetworkMonitor(remote: remote, address: address)
  }

  private static func remote(_ transport: HTTPTransport, routes: String?, of vault: Vault) throws -> any Remote {
    guard let routes else { return FieldVaultRemote(transport: transport) }
    return RestRemote(transport: transport, file: try RouteFile(json: routes), vault: vault)
  }

  /// Returns the server of a vault for requests about its account.
  /// - Throws: ``SyncRefused`` without a server or in device-only mode; `VaultError` for an existing REST API, which has no accounts.
  static func account(of vault: Vault) throws -> FieldVaultRemote {
    guard let settings = try vault.remote() else { throw SyncRefused.noRemote }
    if try vault.preference(.mode) == "device" { throw SyncRefused.deviceOnly }
    guard settings.routes == nil else {
      throw VaultError(
        .refused, "the remote \(settings.url) is an existing REST API, which has no accounts of FieldVault")
    }
    return FieldVaultRemote(
      transport: HTTPTransport(
        address: try ServerAddress(settings.url, allowsInsecure: true), limits: TransportLimits()
      ) {
        try vault.remoteToken(for: settings.url)
      })
  }

  /// The limits of a short request that a user waits for.
  static var limitsOfQuestion: TransportLimits {
    var limits = TransportLimits()
    (limits.connectSeconds, limits.idleSeconds, limits.wholeSeconds) = (10, 15, 30)
    return limits
  }

  /// Checks that a new server responds, accepts the token, and that the vault can sync under it.
  /// - Throws: ``RemoteFailure``.
  static func check(_ url: String, token: String?, routes: String?, of vault: Vault) throws {
    let transport = HTTPTransport(
      address: try ServerAddress(url, allowsInsecure: true), limits: limitsOfQuestion
    ) { token }
    let remote = try remote(transport, routes: routes, of: vault)
    do {
      try Waiting.run {
        _ = try await remote.health()
        guard token != nil else { return }
        try await remote.checkToken()
        // An existing REST API has no accounts.
        guard routes == nil else { return }
        let info = try await remote.account()
        if let problem = try await vault.sync({ try $0.tokenProblem(info) }) {
          throw RemoteFailure(.pauseCredentials, message: problem.message, remedy: problem.remedy)
        }
      }
    } catch let failure as RemoteFailure {
      throw RemoteFailure(
        failure.responseClass, message: "\(failure.message); the server was not set",
        remedy: failure.responseClass == .pauseCredentials
          ? failure.remedy : .advice("check the address, or skip the check with --no-check"),
        problem: failure.problem, retryAfterSeconds: failure.retryAfterSeconds)
    }
  }

  /// Returns whether the server of a vault responds, or `nil` if it is not set.
  static func state(of vault: Vault) throws -> NetworkState? {
    guard try vault.remote() != nil else { return nil }
    // In this mode nothing is sent, not even a probe.
    if try vault.preference(.mode) == "device" { return .offline }
    var limits = TransportLimits()
    (limits.connectSeconds, limits.idleSeconds, limits.wholeSeconds) = (2, 2, 2)
    let monitor = try Server(of: vault, limits: limits).monitor
    return try Waiting.run { await monitor.probe() }
  }
}
