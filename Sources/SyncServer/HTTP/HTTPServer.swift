import CMicroHTTPD
import CipherSQL
import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Speaks HTTP by libmicrohttpd: its threads read and write, answers are made in tasks.
///
/// While an answer is made its connection is suspended, so that no thread waits for it: a request that waits for a change
/// costs its memory and nothing else.
final class HTTPServer: Sendable {
  /// Makes answers.
  struct Handlers: Sendable {
    /// Looks at a request before its body is read; what it returns is the answer.
    var refuse: @Sendable (Request) -> Response?
    /// Answers a request.
    var answer: @Sendable (Request) async -> Response
  }

  let handlers: Handlers
  let limits: ServerLimits
  let log: RequestLog
  let address: String
  let isEncrypted: Bool
  private let exchanges = Locked<[ObjectIdentifier: Exchange]>([:])
  private let daemon: Locked<Daemon?>
  private let identity: IdentityText?

  /// The daemon of libmicrohttpd. `@unchecked Sendable` holds because its functions may be called from any thread, and the
  /// pointer is used under the lock of `daemon` or by the one call that took it out.
  private struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  /// Starts to serve.
  /// - Throws: ``ServerError`` with `cannotListen` or `badCertificate`.
  init(
    listen: String, identity: TLSIdentity?, limits: ServerLimits, log: RequestLog, handlers: Handlers
  ) throws(ServerError) {
    let socket = try ListeningSocket(listen)
    self.handlers = handlers
    self.limits = limits
    self.log = log
    address = socket.address
    isEncrypted = identity != nil
    self.identity = identity.map(IdentityText.init)
    daemon = Locked(nil)
    var settings = cmicrohttpd_settings(
      listen_socket: socket.descriptor, connection_limit: UInt32(limits.connections),
      connections_per_address: UInt32(limits.connectionsPerAddress), timeout_seconds: UInt32(limits.idleSeconds),
      threads: 4, memory_per_connection: 64 << 10, certificate: self.identity?.certificate.map { UnsafePointer($0) },
      private_key: self.identity?.privateKey.map { UnsafePointer($0) })
    // Given back when the daemon has stopped: until then its threads call with this pointer.
    let context = Unmanaged.passRetained(self)
    guard let pointer = cmicrohttpd_start(&settings, handleAccess, handleCompletion, context.toOpaque()) else {
      context.release()
      close(socket.descriptor)
      throw identity == nil
        ? ServerError(.cannotListen, "the HTTP server could not be started on \(listen)")
        : ServerError(
          .badCertificate, "the certificate and the key could not be used",
          hint: "both are PEM files, and the key is that of the certificate")
    }
    daemon.withLock { $0 = Daemon(pointer: pointer) }
    Task { [weak self] in await self?.lookForLostClients() }
  }

  /// Takes no more connections, waits for the requests in flight, then ends.
  ///
  /// Requests that take longer than ``ServerLimits/stopSeconds`` are cut off.
  func stop() async {
    let running = daemon.withLock { daemon -> Daemon? in
      defer { daemon = nil }
      return daemon
    }
    guard let running else { return }
    let socket = MHD_quiesce_daemon(running.pointer)
    if socket >= 0 { close(socket) }
    let end = ContinuousClock.now + .seconds(limits.stopSeconds)
    while ContinuousClock.now < end, !exchanges.withLock({ $0.isEmpty }) { await Self.pause() }
    // A suspended connection has to be resumed before the daemon ends, so what is being worked on is ended early.
    for exchange in exchanges.withLock({ Array($0.values) }) { exchange.cancel() }
    while working.withLock({ $0 }) > 0 { await Self.pause() }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      DispatchQueue(label: "stopping").async {
        MHD_stop_daemon(running.pointer)
        Unmanaged.passUnretained(self).release()
        continuation.resume()
      }
    }
  }

  /// Answers that are being made.
  let working = Locked(0)

  static func pause(_ duration: Duration = .milliseconds(5)) async {
    // Cancelled or not, the loop goes on: connections must be resumed.
    try? await Task.sleep(for: duration)
  }

  /// Requests that came at least so long ago.
  func waiting(atLeast duration: Duration) -> [Exchange] {
    let latest = ContinuousClock.now - duration
    return exchanges.withLock { $0.values.filter { $0.start <= latest } }
  }

  func began(_ exchange: Exchange) { exchanges.withLock { $0[ObjectIdentifier(exchange)] = exchange } }

  func ended(_ exchange: Exchange) { exchanges.withLock { $0[ObjectIdentifier(exchange)] = nil } }

  /// Whether the server is coming to its end: then connections are not kept.
  var isStopping: Bool { daemon.withLock { $0 == nil } }
}

/// Certificate and key where the C library finds them for as long as the server runs. `@unchecked Sendable` holds
/// because the memory is written in the initialiser alone.
private final class IdentityText: @unchecked Sendable {
  let certificate: UnsafeMutablePointer<CChar>?
  let privateKey: UnsafeMutablePointer<CChar>?

  init(_ identity: TLSIdentity) {
    certificate = identity.certificate.withUnsafeBytes { $0.bindMemory(to: CChar.self).baseAddress.flatMap(strdup) }
    privateKey = identity.privateKey.withUnsafeBytes { $0.bindMemory(to: CChar.self).baseAddress.flatMap(strdup) }
  }

  deinit {
    if let privateKey { memset(privateKey, 0, strlen(privateKey)) }
    free(certificate)
    free(privateKey)
  }
}
