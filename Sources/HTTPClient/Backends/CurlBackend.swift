#if !canImport(Darwin)
  import CCurl
  import CipherSQL
  import Foundation

  /// Sends requests over libcurl. One thread has all requests and their connections, so that any request can reuse a
  /// connection. It sleeps until a socket, a timeout or a caller wakes it.
  final class CurlBackend: HTTPBackend {
    private let connectSeconds: Double
    private let mail = Locked(CurlRequests())

    init(connectSeconds: Double) { self.connectSeconds = connectSeconds }

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
      let thread = Thread { [mail, connectSeconds] in
        ccurl_block_signals()
        CurlLoop(multi, connectSeconds: connectSeconds).run(mail)
      }
      thread.name = "fieldvault-http"
      thread.stackSize = 1 << 20
      thread.start()
    }
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
