import CMicroHTTPD
import CPlatform
import Platform
import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An HTTP server on libmicrohttpd: its threads read and write, and tasks prepare responses.
///
/// While a response is prepared, its connection is suspended, so that no thread waits for it. A long poll costs only
/// its memory.
package final class HTTPServer: Sendable {
  /// Prepares responses.
  package struct Handlers: Sendable {
    /// Decides about a request before its body is read.
    var admit: @Sendable (Request) -> AdmittedRequest
    /// Responds to a request.
    var respond: @Sendable (Request) async -> Response
    /// Returns whether the token of a user is still valid.
    var isValid: @Sendable (any Caller) -> Bool
    /// Receives each request when it has ended.
    var completed: @Sendable (CompletedRequest) -> Void

    package init(
      admit: @escaping @Sendable (Request) -> AdmittedRequest, respond: @escaping @Sendable (Request) async -> Response,
      isValid: @escaping @Sendable (any Caller) -> Bool = { _ in true },
      completed: @escaping @Sendable (CompletedRequest) -> Void = { _ in }
    ) {
      (self.admit, self.respond, self.isValid, self.completed) = (admit, respond, isValid, completed)
    }
  }

  let handlers: Handlers
  let limits: HTTPLimits
  let log: RequestLog
  let environment: Environment
  var clock: Clock { environment.clock }
  /// The address of the server, with the port that the system chose for port 0.
  package let address: String
  let isEncrypted: Bool
  let watch: ConnectionMonitor
  package let memory: BodyMemory
  private let exchanges = Locked<[ObjectIdentifier: ConnectionState]>([:])
  private let daemons = Locked(Daemons())
  private let socket: Int32

  /// The daemons of libmicrohttpd: the listening daemon, and daemons that only finish their connections after a
  /// certificate was replaced.
  private struct Daemons {
    var listening: Listener?
    var draining: [Listener] = []
    var isStopping = false
  }

  /// Starts the server.
  /// - Throws: ``HTTPServerError`` with `cannotListen` or `badCertificate`.
  package init(
    listen: String, identity: TLSIdentity?, limits: HTTPLimits, log: RequestLog, environment: Environment,
    handlers: Handlers
  ) throws(HTTPServerError) {
    let socket = try ListeningSocket(listen)
    self.handlers = handlers
    self.limits = limits
    self.log = log
    self.environment = environment
    self.socket = socket.descriptor
    address = socket.address
    isEncrypted = identity != nil
    watch = ConnectionMonitor(
      ConnectionTable.Limits(
        header: limits.headerTime, pause: .seconds(limits.idleSeconds),
        strangersPerAddress: limits.waitingConnectionsPerAddress, strangers: limits.waitingConnections),
      clock: environment.clock)
    memory = BodyMemory(
      limit: max(limits.bodyMemoryBytes, limits.bodyBytes),
      userLimit: max(limits.bodyMemoryBytesPerUser, limits.bodyBytes))
    let listener: Listener
    do {
      listener = try Listener(self, identity)
    } catch {
      close(socket.descriptor)
      throw error
    }
    daemons.withLock { $0.listening = listener }
    // The server is not retained during the pauses, so that one that is abandoned lets its data go at once.
    Task { [weak self, clock = environment.clock] in
      while let pause = self?.keepWatch() { await clock.sleepThroughCancellation(pause) }
    }
  }

  /// Uses another certificate from now on. Open connections keep the old one, and are closed after their next response.
  /// - Throws: ``HTTPServerError`` with `badCertificate`. The old certificate stays in use in this case.
  package func replace(_ identity: TLSIdentity) throws(HTTPServerError) {
    guard isEncrypted else { return }
    let listener = try Listener(self, identity)
    let (before, isLate) = daemons.withLock { daemons -> (Listener?, Bool) in
      if daemons.isStopping { return (nil, true) }
      let before = daemons.listening
      daemons.listening = listener
      if let before { daemons.draining.append(before) }
      return (before, false)
    }
    if isLate {
      listener.quiesce()
      listener.stop()
    }
    before?.quiesce()
  }

  /// Starts a daemon that listens on the socket of this server.
  fileprivate func start(_ listener: Listener, _ identity: CertificateText?) throws(HTTPServerError) -> OpaquePointer {
    let descriptor = cplatform_fcntl(socket, F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else {
      throw HTTPServerError(.cannotListen, "cannot listen: \(String(cString: strerror(errno)))")
    }
    var settings = cmicrohttpd_settings(
      listen_socket: descriptor, connection_limit: UInt32(limits.connections),
      connections_per_address: UInt32(limits.connectionsPerAddress), timeout_seconds: UInt32(limits.idleSeconds),
      threads: UInt32(limits.threads), memory_per_connection: 64 << 10,
      certificate: identity?.certificate.map { UnsafePointer($0) },
      private_key: identity?.privateKey.map { UnsafePointer($0) })
    let context = Unmanaged.passUnretained(listener).toOpaque()
    guard
      let pointer = cmicrohttpd_start(&settings, handleAccess, handleCompletion, context, handleConnection, context)
    else {
      close(descriptor)
      throw identity == nil
        ? HTTPServerError(.cannotListen, "the HTTP server could not be started on \(address)")
        : HTTPServerError(
          .badCertificate, "the certificate and the key could not be used",
          hint: "both must be PEM files, and the key must match the certificate")
    }
    return pointer
  }

  /// Stops a server that has had no connection yet, because the program cannot start.
  package func abandon() {
    let listener = daemons.withLock { daemons -> Listener? in
      daemons.isStopping = true
      defer { daemons.listening = nil }
      return daemons.listening
    }
    guard let listener else { return }
    listener.quiesce()
    listener.stop()
    close(socket)
  }

  /// Refuses new connections, waits for the requests in flight, then stops.
  ///
  /// Requests that take longer than ``HTTPLimits/stopSeconds`` are cut. Work that does not end after its
  /// cancellation is abandoned after the same time again: its connection is closed, and its response is dropped.
  package func stop() async {
    let running = daemons.withLock { daemons -> [Listener] in
      guard !daemons.isStopping else { return [] }
      daemons.isStopping = true
      defer { (daemons.listening, daemons.draining) = (nil, []) }
      return daemons.draining + (daemons.listening.map { [$0] } ?? [])
    }
    guard !running.isEmpty else { return }
    for listener in running { listener.quiesce() }
    close(socket)
    await waitUntil { exchanges.withLock { $0.isEmpty } }
    // A suspended connection must be resumed before the daemon stops, so running work is ended early. From here on no
    // connection is suspended.
    work.withLock { $0.isEnding = true }
    for exchange in exchanges.withLock({ Array($0.values) }) { exchange.cancel() }
    await waitUntil { work.withLock { $0.suspended.isEmpty } }
    for (suspended, exchange) in work.withLock({ Array($0.suspended.values) }) {
      log.failure("a request did not end when the server stopped; its connection is closed")
      exchange?.respond(with: HTTPProblem.notNow.response)
      suspended.resume()
    }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      DispatchQueue(label: "stopping").async {
        for listener in running { listener.stop() }
        continuation.resume()
      }
    }
  }

  /// Returns when a condition holds, or after the time that requests have when the server stops.
  private func waitUntil(_ condition: () -> Bool) async {
    let end = clock.instant() + .seconds(limits.stopSeconds)
    while clock.instant() < end, !condition() { await pause() }
  }

  // MARK: Watching

  /// Ends connections that wait too long, requests whose client has disconnected or whose token was revoked, and
  /// daemons that have finished.
  /// - Returns: the time until the next call; `nil` when the server stops.
  private func keepWatch() -> Duration? {
    if isStopping { return nil }
    watch.endLate()
    // Short requests are not checked: their effect counts whether the client receives the response or not.
    let waiting = waiting(atLeast: limits.watchInterval * 2)
    for exchange in waiting { exchange.endIfClientIsGone() }
    endRevoked(waiting)
    for listener in takeDrained() { listener.stop() }
    return limits.watchInterval
  }

  private func endRevoked(_ waiting: [ConnectionState]) {
    var known: [Int64: Bool] = [:]
    for exchange in waiting {
      guard let caller = exchange.caller else { continue }
      let isAllowed = known[caller.tokenId] ?? handlers.isValid(caller)
      known[caller.tokenId] = isAllowed
      guard !isAllowed || caller.expiresAt.map({ $0 <= environment.now }) ?? false else { continue }
      // Uploads and downloads end with their connection, long polls with their task.
      watch.end(exchange.connection)
      exchange.cancel()
    }
  }

  private func takeDrained() -> [Listener] {
    daemons.withLock { daemons in
      let drained = daemons.draining.filter { $0.connections == 0 }
      daemons.draining.removeAll { listener in drained.contains { $0 === listener } }
      return drained
    }
  }

  private struct Work {
    /// The suspended connections.
    var suspended: [ObjectIdentifier: (SuspendedConnection, ConnectionState?)] = [:]
    var isEnding = false
  }

  private let work = Locked(Work())

  /// Suspends a connection while its response is prepared. Returns `nil` if the server is stopping.
  func suspend(_ connection: OpaquePointer, for exchange: ConnectionState?) -> SuspendedConnection? {
    work.withLock { work in
      if work.isEnding { return nil }
      MHD_suspend_connection(connection)
      let suspended = SuspendedConnection(connection)
      work.suspended[ObjectIdentifier(suspended)] = (suspended, exchange)
      return suspended
    }
  }

  /// Resumes a connection.
  func resume(_ suspended: SuspendedConnection) {
    work.withLock { $0.suspended[ObjectIdentifier(suspended)] = nil }
    suspended.resume()
  }

  /// Waits before the next look. The loop continues after a cancellation, because connections must be resumed.
  private func pause() async { await clock.sleepThroughCancellation(.milliseconds(5)) }

  /// Returns the requests that began at least a duration ago.
  func waiting(atLeast duration: Duration) -> [ConnectionState] {
    let latest = clock.instant() - duration
    return exchanges.withLock { $0.values.filter { $0.start <= latest } }
  }

  func began(_ exchange: ConnectionState) { exchanges.withLock { $0[ObjectIdentifier(exchange)] = exchange } }

  /// Returns the id of a request that came without one: 16 hexadecimal digits.
  func newRequestId() -> String {
    let digits = String(environment.random.number(), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The number of open connections.
  package var connectionCount: Int {
    daemons.withLock { daemons in
      (daemons.listening?.connections ?? 0) + daemons.draining.reduce(0) { $0 + $1.connections }
    }
  }

  /// The number of requests in flight.
  package var requestCount: Int { exchanges.withLock { $0.count } }

  func ended(_ exchange: ConnectionState) { exchanges.withLock { $0[ObjectIdentifier(exchange)] = nil } }

  /// Whether the server is stopping. Connections are not reused in this case.
  var isStopping: Bool { daemons.withLock { $0.isStopping } }
}

/// A suspended connection. It is resumed once, from any thread.
final class SuspendedConnection: Sendable {
  /// `@unchecked Sendable` holds because a suspended connection exists until it is resumed, any thread may resume it,
  /// and the pointer is removed once for that.
  private struct Connection: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  private let connection: Locked<Connection?>

  init(_ pointer: OpaquePointer) { connection = Locked(Connection(pointer: pointer)) }

  func resume() {
    let taken = connection.withLock { connection -> Connection? in
      defer { connection = nil }
      return connection
    }
    if let taken { MHD_resume_connection(taken.pointer) }
  }
}

/// A daemon of libmicrohttpd with its resources. Its connections retain the server.
final class Listener: Sendable {
  /// `@unchecked Sendable` holds because any thread may call the functions of a daemon, and the one call that stops
  /// it takes the pointer out of its lock.
  private struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  let server: HTTPServer
  private let identity: CertificateText?
  private let daemon = Locked<Daemon?>(nil)
  private let state = Locked((connections: 0, isDraining: false))

  /// Starts a daemon.
  /// - Throws: ``HTTPServerError`` with `cannotListen` or `badCertificate`.
  init(_ server: HTTPServer, _ identity: TLSIdentity?) throws(HTTPServerError) {
    self.server = server
    self.identity = identity.map(CertificateText.init)
    let pointer = try server.start(self, self.identity)
    daemon.withLock { $0 = Daemon(pointer: pointer) }
  }

  /// The number of connections of the daemon.
  var connections: Int { state.withLock { $0.connections } }

  /// Whether the daemon only finishes its connections.
  var isDraining: Bool { state.withLock { $0.isDraining } }

  func count(_ change: Int) { state.withLock { $0.connections += change } }

  /// Refuses new connections.
  func quiesce() {
    state.withLock { $0.isDraining = true }
    daemon.withLock { daemon in
      guard let daemon else { return }
      let socket = MHD_quiesce_daemon(daemon.pointer)
      if socket >= 0 { close(socket) }
    }
  }

  /// Stops the daemon. Its connections must not be suspended.
  func stop() {
    let running = daemon.withLock { daemon -> Daemon? in
      defer { daemon = nil }
      return daemon
    }
    if let running { MHD_stop_daemon(running.pointer) }
  }
}

/// The certificate and the key in memory that the C library reads while the server runs. `@unchecked Sendable` holds
/// because the memory is written in the initialiser alone.
fileprivate final class CertificateText: @unchecked Sendable {
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
