import OfflineStore
import SyncEngine
import WebTransport

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
    let transport = HTTPTransport(address: address, limits: limits) {
      (try? vault.remote())?.url == settings.url ? try? vault.remoteToken() : nil
    }
    if let text = settings.routes {
      remote = RestRemote(transport: transport, file: try RouteFile(json: text), vault: vault)
    } else {
      remote = FieldVaultRemote(transport: transport)
    }
    monitor = NetworkMonitor(remote: remote, address: address)
  }

  /// Whether the server of a vault answers; nil where none is set.
  static func state(of vault: Vault) throws -> NetworkState? {
    guard try vault.remote() != nil else { return nil }
    // In this mode nothing goes out, not even a question.
    if try vault.preference(.mode) == "device" { return .offline }
    var limits = TransportLimits()
    (limits.connectSeconds, limits.idleSeconds, limits.wholeSeconds) = (2, 2, 2)
    let monitor = try Server(of: vault, limits: limits).monitor
    return try Waiting.run { await monitor.probe() }
  }
}
