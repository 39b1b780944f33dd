import CipherSQL
import HTTPServer
import Platform
import SyncModel
import VaultStore
import WebPages

/// The local web page of one vault.
///
/// It shows the vault to the one browser that opens the link. It changes the vault only if its settings allow that, and locks itself when
/// it is idle.
public final class Inspector: Sendable {
  private let site: WebSite

  /// The permissions of an inspector, and its idle time.
  public struct Settings: Sendable {
    /// Whether forms may retry, discard and resolve.
    public var isWritable = false
    /// The time without a request after which the inspector locks itself, in seconds.
    public var idleSeconds = 900
    /// The name of the user, which is stored with a resolved conflict.
    public var user = "inspector"
    /// The time that a page waits for its records before it shows the progress of the read.
    var patience = Duration.seconds(1)

    /// The schemas that the program knows, for the check of the vault.
    public var schemas: [Schema] = []
    /// Words a remedy in terms of the program.
    public var hint: @Sendable (Remedy) -> String = { "\($0)" }

    /// An inspector that changes nothing.
    public init() {}
  }

  /// - Parameters:
  ///   - name: the name of the vault, for the title.
  ///   - onLock: called once when the inspector has locked itself and closed the vault.
  public init(_ vault: Vault, name: String, settings: Settings = Settings(), onLock: @escaping @Sendable () -> Void) {
    // Released when the inspector locks itself. The keys of the vault are wiped with the last reference to the vault.
    let pages = Locked<InspectorPages?>(InspectorPages(vault, settings))
    site = WebSite(
      frame: PageFrame(
        name: name, standing: settings.isWritable ? "can be changed" : "read-only", pages: InspectorPages.all),
      idleMilliseconds: Int64(settings.idleSeconds) * 1000, environment: vault.environment,
      onLock: {
        let locked = pages.withLock { pages in
          defer { pages = nil }
          return pages
        }
        locked?.close()
        onLock()
      },
      respond: { call in
        guard let open = pages.withLock({ $0 }) else { return .page(InspectorPages.closed) }
        return await open.response(to: call)
      })
  }

  /// Begins to listen.
  /// - Parameter listen: `127.0.0.1:PORT`, `[::1]:PORT` or `localhost:PORT`; port 0 lets the system choose.
  /// - Returns: the link that opens one browser, once.
  /// - Throws: ``HTTPServerError`` with `cannotListen` or `addressInUse`.
  public func start(_ listen: String) throws(HTTPServerError) -> String { try site.start(listen) }

  /// Ends, after the requests in flight.
  public func stop() async { await site.stop() }
}
