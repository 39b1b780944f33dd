import CommandLineKit
import Platform
import VaultStore
import SyncEngine
import RESTRemote
import HTTPClient
import SyncModel

/// The way to a vault's server.
struct Server: Sendable {
  let url: String
  let remote: any Remote
  let monitor: NetworkMonitor

  /// The server of a vault.
  /// - Throws: ``SyncRefused`` with `noRemote`.
  init(of vault: Vault, limits: TransportLimits = TransportLimits()) throws {
    guard let settings = try vault.remote() else { throw SyncRefused.noRemote }
    let url = settings.url
    let routes = try settings.routes.map { try RouteFile(json: $0) }
    let transport = try Self.transport(of: vault, url: url, routes, limits: limits)
    self.url = url
    remote = Self.remote(transport, routes, of: vault)
    monitor = NetworkMonitor(remote: remote, address: transport.address)
  }

  private static func transport(
    of vault: Vault, url: String, _ routes: RouteFile? = nil, limits: TransportLimits = TransportLimits()
  ) throws -> HTTPTransport {
    // The command is read each time, so that a running worker uses a new one at once.
    try HTTPTransport(
      vault: vault, limits: limits, tokenProvider: provider { try vault.remoteTokenCommand(for: url) },
      remote: { remote($0, routes, of: vault) })
  }

  private static func remote(_ transport: HTTPTransport, _ routes: RouteFile?, of vault: Vault) -> any Remote {
    guard let routes else { return FieldVaultRemote(transport: transport) }
    return RestRemote(transport: transport, file: routes, vault: vault)
  }

  /// Returns a provider whose tokens are the output of a command. It returns `nil` without a command.
  private static func provider(_ command: @escaping @Sendable () throws -> String?) -> TokenProvider {
    { _ in
      guard let command = try command() else { return nil }
      do {
        return try await CommandOutput().firstLine(of: command)
      } catch let failure as CommandFailure {
        throw TokenCommandFailed(reason: failure)
      }
    }
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
    return FieldVaultRemote(transport: try transport(of: vault, url: settings.url))
  }

  /// The limits of a short request that a user waits for.
  static var limitsOfQuestion: TransportLimits {
    var limits = TransportLimits()
    (limits.connectSeconds, limits.idleSeconds, limits.wholeSeconds) = (10, 15, 30)
    return limits
  }

  /// Checks that a new server responds, accepts the token, and that the vault can sync under it.
  /// - Parameters:
  ///   - token: the token; `nil` to ask the command, or to send no token.
  ///   - command: provides a token if `token` is `nil` or the server refuses it.
  /// - Returns: the accepted token; `nil` if no token was sent.
  /// - Throws: ``RemoteFailure``.
  static func check(
    _ url: String, token: String?, command: String?, routes: RouteFile?, authorities: CertificateAuthorities?,
    of vault: Vault
  ) throws -> String? {
    let accepted = Locked(token)
    let source = TokenSource(provider: provider { command }) { token, _, _ in
      accepted.withLock { $0 = token }
      return token
    }
    let transport = HTTPTransport(
      address: try ServerAddress(url, allowsInsecure: true), limits: limitsOfQuestion, authorities: authorities,
      proxies: .system, renewal: source, token: { accepted.withLock { $0 } })
    let remote = remote(transport, routes, of: vault)
    do {
      try Waiting.run {
        _ = try await remote.health()
        guard token != nil || command != nil else { return }
        try await remote.checkToken()
        // An existing REST API has no accounts.
        guard routes == nil else { return }
        let info = try await remote.account()
        if let problem = try await vault.sync({ try $0.tokenProblem(info) }) {
          throw RemoteFailure(.pauseCredentials, message: problem.message, remedy: problem.remedy)
        }
      }
    } catch let failure as RemoteFailure {
      let remedy: Remedy =
        if failure.responseClass == .pauseCredentials {
          command == nil
            ? failure.remedy
            : .advice("the first line that the token command prints must be a token of this vault's account")
        } else if failure.message == TransportFailure.untrusted.message {
          .advice("check the address, or name the authority of its certificate with --ca-file FILE")
        } else {
          .advice("check the address, or skip the check with --no-check")
        }
      throw RemoteFailure(
        failure.responseClass, message: "\(failure.message); the server was not set", remedy: remedy,
        problem: failure.problem, retryAfterSeconds: failure.retryAfterSeconds)
    }
    return accepted.withLock { $0 }
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

/// The token command failed. The text names no output of the command.
private struct TokenCommandFailed: Error, CustomStringConvertible {
  let reason: CommandFailure

  var description: String { "the token command \(reason)" }
}
