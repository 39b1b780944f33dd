import CipherSQL
import HTTPClient
import SyncModel
import VaultStore

extension HTTPTransport {
  /// Creates a transport for the server of a vault. It sends the token of the vault, which is read for each request, and
  /// accepts the authorities of the vault.
  ///
  /// With a provider, a token that is missing or that the server refuses with 401 is renewed before sync pauses, and each
  /// refused request is repeated once. This applies to every request: rounds, long polls, files and REST remotes. A new
  /// token is stored in the vault after the server has named its account. A token of another account is not stored, and
  /// sync pauses, because the operations were made under the first account.
  /// - Parameters:
  ///   - tokenProvider: returns a new token; `nil` if the program has no such function.
  ///   - remote: makes the remote that names the account of a new token. It is a FieldVault server by default.
  /// - Throws: ``SyncRefused`` with `noRemote`; errors of the vault.
  public convenience init(
    vault: Vault, limits: TransportLimits = TransportLimits(), tokenProvider: TokenProvider? = nil,
    remote: @escaping @Sendable (HTTPTransport) -> any Remote = { FieldVaultRemote(transport: $0) }
  ) throws {
    try self.init(vault: vault, limits: limits, proxies: .system, tokenProvider: tokenProvider, remote: remote)
  }

  /// Creates a transport for the server of a vault with other proxies.
  package convenience init(
    vault: Vault, limits: TransportLimits, proxies: ProxySettings, tokenProvider: TokenProvider?,
    remote: @escaping @Sendable (HTTPTransport) -> any Remote
  ) throws {
    guard let settings = try vault.remote() else { throw SyncRefused.noRemote }
    let url = settings.url
    self.init(
      // Whether the server may do without encryption was decided when it was set.
      address: try ServerAddress(url, allowsInsecure: true), limits: limits,
      authorities: try settings.authorities.map { try CertificateAuthorities(pem: $0) }, proxies: proxies,
      renewal: tokenProvider.map { TokenSource(vault: vault, url: url, provider: $0, remote: remote) },
      // An existing REST API knows nothing of devices.
      device: { settings.routes == nil ? try vault.deviceId() : nil }, token: { try vault.remoteToken(for: url) })
  }
}

extension TokenSource {
  /// Creates a source whose tokens are stored in a vault after the remote has named their account.
  package init(
    vault: Vault, url: String, provider: @escaping TokenProvider,
    remote: @escaping @Sendable (HTTPTransport) -> any Remote
  ) {
    self.init(provider: provider) { token, refused, transport async throws(TransportFailure) in
      try await Self.accept(token, replacing: refused, of: vault, url, remote(transport))
    }
  }

  /// Stores a new token if the vault may sync under it.
  private static func accept(
    _ token: String, replacing refused: String?, of vault: Vault, _ url: String, _ remote: any Remote
  ) async throws(TransportFailure) -> String {
    let info: AccountInfo
    do throws(RemoteFailure) {
      info = try await remote.account()
    } catch {
      throw TransportFailure(checkingToken: error)
    }
    let problem: (message: String, remedy: Remedy)?
    let stored: String?
    do {
      problem = try await vault.sync { try $0.tokenProblem(info) }
      stored = problem == nil ? try await vault.replaceRemoteToken(refused, with: token, for: url) : nil
    } catch is CancellationError {
      throw .cancelled
    } catch {
      throw .tokenUnavailable
    }
    if let problem { throw .noValidToken(detail: problem.message, hint: problem.remedy.advice ?? "") }
    guard let stored else {
      throw .noValidToken(
        detail: "the server or the token of this vault was removed", hint: "set the server and a token")
    }
    return stored
  }
}

extension TransportFailure {
  /// The reason why a new token was not checked, or is not valid.
  fileprivate init(checkingToken failure: RemoteFailure) {
    self =
      switch failure.responseClass {
      case .cancelled: .cancelled
      case .pauseCredentials:
        .noValidToken(
          detail: "the new token was refused: \(failure.message)",
          hint: failure.hint.isEmpty ? "no data is lost; the next sync asks for a token again" : failure.hint)
      default: .noConnection(detail: "a new token could not be checked: \(failure.message)")
      }
  }
}
