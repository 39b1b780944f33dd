#if !canImport(Darwin)
  import CCurl
  import CipherSQL

  /// The loop of a ``CurlBackend``'s thread, until the backend is released.
  final class CurlLoop {
    private let multi: CurlMulti
    private let settings: CurlSettings
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// Handles of requests that are over, for the next ones.
    private var spare: [UnsafeMutableRawPointer] = []

    init(_ multi: CurlMulti, _ settings: CurlSettings) {
      self.multi = multi
      self.settings = settings
    }

    deinit { spare.forEach { curl_easy_cleanup($0) } }

    func run(_ mail: Locked<CurlRequests>) {
      while true {
        let (starting, isClosed) = mail.withLock { mail in
          defer { mail.starting = [] }
          return (mail.starting, mail.isClosed)
        }
        for (request, exchange) in starting { start(request, exchange) }
        if isClosed {
          transfers.values.forEach { $0.exchange.finish(.failure(.cancelled)) }
        }
        endWhatIsOver()
        if isClosed { return }
        var running: Int32 = 0
        let code = curl_multi_perform(multi.handle, &running)
        takeDone(failing: code)
        let nearest = endWhatIsOver()
        // An hour is no limit of anything: without requests only a caller wakes it.
        let pause = nearest.map { max(($0 - .now) / .milliseconds(1), 0) } ?? 3_600_000
        curl_multi_poll(multi.handle, nil, 0, Int32(min(pause.rounded(.up), 3_600_000)), nil)
      }
    }

    private func start(_ request: OutgoingRequest, _ exchange: RequestTask) {
      guard let easy = spare.popLast() ?? curl_easy_init() else {
        return exchange.finish(.failure(.noConnection(detail: "out of memory")))
      }
      let transfer = CurlTransfer(easy, exchange, settings)
      transfers[ObjectIdentifier(transfer)] = transfer
      let code = transfer.prepare(request)
      if code != CURLE_OK { return end(transfer, code) }
      if curl_multi_add_handle(multi.handle, easy) != CURLM_OK { end(transfer, CURLE_FAILED_INIT) }
    }

    private func takeDone(failing code: CURLMcode) {
      if code != CURLM_OK { transfers.values.forEach { end($0, CURLE_FAILED_INIT) } }
      var result = CURLE_OK
      while let context = ccurl_next_done(multi.handle, &result) {
        end(Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue(), result)
      }
    }

    private func end(_ transfer: CurlTransfer, _ code: CURLcode) {
      transfer.exchange.complete(transfer.failure(code))
      remove(transfer)
    }

    /// Checks the timeouts, removes finished transfers, and returns the nearest timeout.
    @discardableResult
    private func endWhatIsOver() -> ContinuousClock.Instant? {
      if transfers.isEmpty { return nil }
      let now = ContinuousClock.now
      var nearest: ContinuousClock.Instant?
      for transfer in transfers.values {
        let limit = transfer.exchange.look(at: now)
        if transfer.exchange.isOver { remove(transfer) } else { nearest = min(nearest ?? limit, limit) }
      }
      return nearest
    }

    private func remove(_ transfer: CurlTransfer) {
      transfers[ObjectIdentifier(transfer)] = nil
      curl_multi_remove_handle(multi.handle, transfer.easy)
      if spare.count < 4 {
        // Forgets the request, its token too; the connection is the set's.
        curl_easy_reset(transfer.easy)
        spare.append(transfer.easy)
      } else {
        curl_easy_cleanup(transfer.easy)
      }
    }
  }
#endif
