#if !canImport(Darwin)
  import CCurl
  import CipherSQL
  import Foundation

  /// Sends requests over libcurl. One thread has all requests and their connections, so that any request can reuse a
  /// connection. It sleeps until a socket, a timeout or a caller wakes it.
  final class CurlBackend: HTTPBackend {
    private let settings: CurlSettings
    private let mail = Locked(CurlRequests())

    init(connectSeconds: Double, authorities: CertificateAuthorities?) {
      settings = CurlSettings(connectSeconds: connectSeconds, authorities: authorities.map(Self.withSystem))
    }

    /// Returns the authorities and those of the system. libcurl reads the certificates in memory in place of the file of
    /// the system.
    private static func withSystem(_ authorities: CertificateAuthorities) -> [UInt8] {
      let system = ccurl_authorities_file().flatMap { FileManager.default.contents(atPath: String(cString: $0)) }
      return [UInt8](system ?? Data()) + Array("\n\(authorities.pem)".utf8)
    }

    deinit {
      mail.withLock { mail in
        mail.isClosed = true
        return mail.multi
      }?.wake()
    }

    func start(_ request: OutgoingRequest, _ exchange: RequestTask) {
      let multi = mail.withLock { mail in
        if mail.multi == nil {
          mail.multi = CurlMulti()
          if let multi = mail.multi { startThread(multi) }
        }
        if mail.multi != nil { mail.starting.append((request, exchange)) }
        return mail.multi
      }
      // Outside of the lock, for which the thread would wait as soon as it is awake.
      guard let multi else { return exchange.finish(.failure(.noConnection(detail: "out of memory"))) }
      multi.wake()
    }

    /// Wakes the thread, which checks for finished exchanges.
    func stop(_ exchange: RequestTask) {
      mail.withLock(\.multi)?.wake()
    }

    private func startThread(_ multi: CurlMulti) {
      let thread = Thread { [mail, settings] in
        ccurl_block_signals()
        CurlLoop(multi, settings).run(mail)
      }
      thread.name = "fieldvault-http"
      thread.stackSize = 1 << 20
      thread.start()
    }
  }

  /// What all requests of a backend have in common.
  struct CurlSettings: Sendable {
    /// The timeout for name resolution, connection and TLS handshake, in seconds.
    let connectSeconds: Double
    /// The PEM-encoded certificates of all accepted authorities; `nil` for those of the system.
    let authorities: [UInt8]?
  }

  /// The requests of callers for the thread.
  struct CurlRequests: Sendable {
    var multi: CurlMulti?
    var starting: [(OutgoingRequest, RequestTask)] = []
    var isClosed = false
  }

  /// libcurl's multi handle. `@unchecked Sendable` holds because only the thread of ``CurlLoop`` uses it, except in
  /// ``wake()``: any thread may call curl_multi_wakeup(3).
  final class CurlMulti: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer

    init?() {
      guard Self.isLibraryReady, let handle = curl_multi_init() else { return nil }
      self.handle = handle
    }

    deinit { curl_multi_cleanup(handle) }

    func wake() { curl_multi_wakeup(handle) }

    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
  }
#endif
