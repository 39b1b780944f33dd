import CipherSQL
import Foundation
import HTTPClient
import HTTPServer
import SyncModel
import TestSupport

/// The network between the devices and the server: slow, lossy and partitioned as the seed decides.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class SimulatedNetwork: @unchecked Sendable {
  /// What happens to a request.
  enum Fate: String, CaseIterable {
    case delivered
    /// The request does not arrive.
    case lost
    /// The request takes effect, and its response does not arrive.
    case responseLost = "response lost"
    /// The response ends before its last byte.
    case responseCut = "response cut"
    /// The connection ends while the server works, and the server notices that.
    case disconnected
    /// The request arrives twice.
    case duplicated
    /// Neither response nor end arrives until the client gives up.
    case silent
    /// The request arrives when the client has given up.
    case late
    /// A sign-in page answers.
    case portal
    /// A proxy redirects.
    case redirect
    case status408 = "status 408"
    case status429 = "status 429"
    case status500 = "status 500"
    case status502 = "status 502"
    case status503 = "status 503"
    case status413 = "status 413"
  }

  /// The faults that last for a while: those of a server that does not work, and of the way to the server.
  static let commonFates: [Fate] = [
    .status500, .status500, .status500, .status503, .status429, .portal, .silent, .lost, .responseLost,
  ]

  private let scheduler: Scheduler
  let trace: Trace
  private let peer: any SimulatedPeer
  var random: Seeded
  /// The probability that a request is not delivered as it should be.
  var trouble = 0.0
  /// What happens to most requests for a while; `nil` if each request has a fate of its own.
  var commonFate: Fate?
  /// Whether a proxy holds each push for a while.
  var holdsPushes = false
  /// Called once when a device receives a page of changes or the response to a push.
  var atResponse: [String: @Sendable () -> Void] = [:]
  /// Devices without a network.
  var offline: Set<String> = []
  /// The greatest delay of a message in microseconds.
  var delay = 80_000
  /// The greatest body of a file that a proxy lets through, in bytes.
  var bodyLimit: Int?
  /// The greatest push that a proxy lets through, in bytes.
  var pushLimit: Int?
  /// The number of changes for which each request of a page asks; `nil` for the number that the device chooses.
  var pageSize: Int?
  /// Whether no request reaches the server.
  var isDown = false
  /// The number of requests of each device that reached the server.
  private(set) var delivered: [String: Int] = [:]
  /// Whether the data of the account are away. The server then refuses each push with 503.
  var lacksAccount = false
  /// Whether the server answers only who it is, because the rest of it does not work yet.
  var identifiesOnly = false
  /// The number of requests that were not delivered as they should be.
  private(set) var faults = 0
  /// Tokens that the server has to refuse.
  var revoked: Set<String> = []
  /// The devices in device-only mode, and since when.
  private(set) var silentSince: [String: Int64] = [:]
  /// The requests of each device in the current minute.
  private var perMinute: [String: (minute: Int64, count: Int)] = [:]
  /// A violation that a request or a response has shown.
  private(set) var violation: Violation?
  /// The operations that devices have sent, by idempotency key.
  private(set) var operations: [String: PushOperation] = [:]
  /// The device that sent each operation, by idempotency key.
  private(set) var senders: [String: String] = [:]
  /// Keys whose operation a device has sent again with the names of a later schema. The server refuses them with 409, and the
  /// device sends the changes under another key.
  private(set) var changedKeys: Set<String> = []

  /// The records of pushes that have not arrived yet, with the number of their operations.
  private(set) var underway: [String: Int] = [:]

  init(_ scheduler: Scheduler, _ trace: Trace, _ peer: any SimulatedPeer, _ random: Seeded) {
    (self.scheduler, self.trace, self.peer, self.random) = (scheduler, trace, peer, random)
  }

  func beginRound(of device: String) { peer.beginRound(of: device) }

  /// Notes the mode of a device when it changes and when its program starts.
  func noteMode(of device: String, isDeviceOnly: Bool) {
    silentSince[device] = isDeviceOnly ? silentSince[device] ?? scheduler.now : nil
  }

  func backend(of device: String) -> any HTTPBackend { Backend(network: self, device: device) }

  private struct Backend: HTTPBackend {
    let network: SimulatedNetwork
    let device: String

    func start(_ request: OutgoingRequest, _ exchange: RequestTask) { network.send(request, exchange, from: device) }

    func stop(_ exchange: RequestTask) {}
  }

  /// The time in which a round that has begun ends, in microseconds.
  private static let longestRound: Int64 = 60_000_000

  private func latency() -> Int64 { Int64(random.number(200..<max(delay, 201))) }

  private func send(_ outgoing: OutgoingRequest, _ exchange: RequestTask, from device: String) {
    var request = Self.request(outgoing, pageSize)
    if !outgoing.url.hasPrefix(SimulatedDevice.url + "/") {
      violation = violation ?? Violation(1, "\(device) sends a request to \(outgoing.url), which is not its server")
    }
    do {
      if let upload = outgoing.upload { request.body = try Self.body(upload) }
    } catch {
      return exchange.finish(.failure(.bodyFailed))
    }
    if let since = silentSince[device], scheduler.now > since + Self.longestRound {
      violation = violation ?? Violation(1, "\(device) sends a request in device-only mode: \(request.path)")
    }
    let fate = drawFate(of: request)
    let query = request.query.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
    let target = request.path + (query.isEmpty ? "" : "?" + query)
    let fault = fate == .delivered ? "" : ", \(fate.rawValue)"
    trace.note("request", "\(device) \(request.method) \(target) \(request.body.count) bytes\(fault)")
    let cut = outgoing.upload == nil ? nil : harm(&request.body)
    trace.tally("fate: \(fate.rawValue)")
    if fate != .delivered { faults += 1 }
    guard !offline.contains(device), !isDown, !isEndless(device) else {
      return later(latency()) { [weak exchange] in exchange?.finish(.failure(.noConnection(detail: "no network"))) }
    }
    if let bodyLimit, outgoing.upload != nil, request.body.count > bodyLimit { return answer(exchange, 413, [:], []) }
    if let pushLimit, request.path == "/v1/push", request.body.count > pushLimit {
      trace.tally("push over the limit")
      return answer(exchange, 413, [:], [])
    }
    if identifiesOnly, request.path != "/v1/account" { return answer(exchange, 503, [:], []) }
    switch fate {
    case .lost:
      later(latency()) { [weak exchange] in exchange?.finish(.failure(Self.reset)) }
    case .silent: expire(exchange)
    case .late:
      expire(exchange)
      arrive(request, after: delayOfLate()) { [request] in
        self.deliver(request, isAwaited: false, from: device) { _ in }
      }
    case .portal:
      answer(exchange, 200, ["content-type": "text/html"], Array("<html>Sign in</html>".utf8))
    case .redirect: answer(exchange, 302, ["location": "http://portal.example/"], [])
    case .status408: answer(exchange, 408, [:], [])
    case .status429: answer(exchange, 429, ["retry-after": "7"], [])
    case .status500: answer(exchange, 500, [:], [])
    case .status502: answer(exchange, 502, [:], [])
    case .status503: answer(exchange, 503, ["retry-after": "20"], [])
    case .status413: answer(exchange, 413, [:], [])
    case .disconnected:
      arrive(request, after: latency()) { [weak exchange, request] in
        exchange?.finish(.failure(Self.reset))
        self.disconnect(request, from: device)
      }
    case .delivered, .responseLost, .responseCut, .duplicated:
      arrive(request, after: latency()) { [weak exchange, request] in
        if fate == .duplicated { self.deliver(request, isAwaited: false, from: device) { _ in } }
        let isAwaited = exchange.map { !$0.isOver } ?? false
        self.deliver(request, cutAt: cut, isAwaited: isAwaited, from: device) { [weak exchange] response in
          self.later(self.latency()) { [weak exchange] in
            if ["/v1/changes", "/v1/push"].contains(request.path) { self.atResponse.removeValue(forKey: device)?() }
            if let exchange { self.receive(response, fate, exchange, device) }
          }
        }
      }
      // The timeouts of the client.
      expire(exchange)
    }
  }

  /// Whether a device sends requests without end. It has no network from then on, so that its round ends.
  private func isEndless(_ device: String) -> Bool {
    let minute = scheduler.now / 60_000_000
    let count = perMinute[device].flatMap { $0.minute == minute ? $0.count : nil } ?? 0
    perMinute[device] = (minute, count + 1)
    guard count > 4_000 else { return false }
    violation = violation ?? Violation(5, "\(device) sends more than 4,000 requests in a minute")
    offline.insert(device)
    return true
  }

  private func drawFate(of request: Request) -> Fate {
    if holdsPushes, request.path == "/v1/push" { return .late }
    if let commonFate, random.chance(0.7) { return commonFate }
    guard random.chance(trouble) else { return .delivered }
    // Few requests are pushes.
    if request.path == "/v1/push", random.chance(0.3) { return .disconnected }
    return random.pick(Fate.allCases)
  }

  /// How long a request is on its way that a proxy holds, or whose client has given up.
  private func delayOfLate() -> Int64 {
    if holdsPushes { return Int64(random.number(3_000_000..<40_000_000)) }
    return Int64(random.number(31_000_000..<random.pick([60_000_000, 120_000_000, 400_000_000])))
  }

  private func receive(_ response: Response?, _ fate: Fate, _ exchange: RequestTask, _ device: String) {
    guard let response, fate != .responseLost, !offline.contains(device) else {
      return exchange.finish(.failure(Self.reset))
    }
    var headers = ["content-type": response.contentType, "content-length": String(response.body.count)]
    for header in response.headers { headers[header.name.lowercased()] = header.value }
    exchange.receive(ResponseHead(status: response.status, headers: headers))
    let count = fate == .responseCut ? response.body.count / 2 : response.body.count
    let end = fate == .responseCut ? Self.reset : nil
    if response.contentType == "application/octet-stream" {
      var body = response.body
      let cut = harm(&body) ?? count
      return stream(body[..<min(cut, count)], cut < count ? Self.reset : end, to: exchange, device)
    }
    response.body.withUnsafeBytes { exchange.receive(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    exchange.complete(end)
  }

  /// Delivers a request whose connection ends at any point of the server's work. A push takes effect all the same: its sender
  /// may be a device whose connections always end after a time.
  private func disconnect(_ request: Request, from device: String) {
    let jobs = random.number(0..<random.pick([4, 12, 60]))
    let generation = peer.generation
    let task = deliver(request, isAwaited: false, from: device) { [self] response in
      guard request.path == "/v1/push", let response, generation == peer.generation, !peer.machine.hasFailed,
        !lacksAccount, [500, 503].contains(response.status)
      else { return }
      violation = violation ?? Violation(5, "a push of \(device) ended with its connection: \(response.status)")
    }
    scheduler.start {
      for _ in 0..<jobs { await Task.yield() }
      task.cancel()
    }
  }

  /// Performs what happens when a request arrives. Until then its operations are under way.
  private func arrive(_ request: Request, after microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    let records = Self.records(of: request)
    for record in records { underway[record, default: 0] += 1 }
    later(microseconds) { [self] in
      for record in records { underway[record, default: 1] -= 1 }
      body()
    }
  }

  private static let reset = TransportFailure.noConnection(detail: "the connection was reset")

  @discardableResult
  private func deliver(
    _ request: Request, cutAt cut: Int? = nil, isAwaited: Bool, from device: String,
    _ finish: @escaping @Sendable (Response?) -> Void
  ) -> Task<Void, Never> {
    note(request, from: device)
    delivered[device, default: 0] += 1
    let delivery = Delivery(device: device, cut: cut, isAwaited: isAwaited, trouble: trouble)
    let isRevoked =
      request.headers["authorization"].map { revoked.contains(String($0.dropFirst("Bearer ".count))) } ?? false
    return scheduler.start { [self] in
      let response = await peer.respond(to: request, delivery)
      if isRevoked { look(at: response, toRevokedTokenOf: device, request) }
      trace.note(
        "response", "\(device) \(request.path) \(response.map { "\($0.status), \($0.body.count) bytes" } ?? "none")")
      tally(request, response, isAwaited: delivery.isAwaited)
      trace.detail("\(request.path) received \(Self.text(request.body))")
      trace.detail("\(request.path) returned \(Self.text(response?.body ?? []))")
      finish(delaying(response, to: request))
    }
  }

  private func look(at response: Response?, toRevokedTokenOf device: String, _ request: Request) {
    trace.tally("request with a revoked token")
    guard let response, ![401, 503, 507].contains(response.status) else { return }
    violation = Violation(1, "the server accepts a revoked token of \(device) for \(request.path): \(response.status)")
  }

  /// The part of a message that a replay prints.
  private static func text(_ body: [UInt8]) -> String {
    body.first == UInt8(ascii: "{") ? String(decoding: body.prefix(30_000), as: UTF8.self) : "\(body.count) bytes"
  }

  // MARK: Bodies of files

  private static func body(_ upload: HTTPUpload) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(upload.byteCount))
    var offset = 0
    while offset < bytes.count {
      let count = try bytes.withUnsafeMutableBytes {
        try upload.read(Int64(offset), UnsafeMutableRawBufferPointer(rebasing: $0[offset...]))
      }
      guard count > 0 else { throw TransportFailure.bodyFailed }
      offset += count
    }
    return bytes
  }

  /// Damages a body, or cuts it, with the probability of trouble.
  /// - Returns: the number of bytes after which it ends; `nil` for a whole body.
  private func harm(_ body: inout [UInt8]) -> Int? {
    guard !body.isEmpty, random.chance(trouble / 2) else { return nil }
    faults += 1
    let index = random.number(0..<body.count)
    let isCut = random.chance(0.7)
    trace.note("body", isCut ? "ends after \(index) bytes" : "byte \(index) is damaged")
    if isCut { return index }
    body[index] ^= UInt8(1 << random.number(0..<8))
    return nil
  }

  /// Sends the body of a response in parts.
  private func stream(
    _ body: ArraySlice<UInt8>, _ failure: TransportFailure?, to exchange: RequestTask, _ device: String
  ) {
    // A task does not hold the exchange while it waits: the exchange has a file of the device open.
    scheduler.start { [self, weak exchange] in
      var rest = body
      while give(&rest, failure, to: exchange, device) { await scheduler.pass(latency()) }
    }
  }

  /// Sends the next part of a body.
  /// - Returns: whether more follows.
  private func give(
    _ rest: inout ArraySlice<UInt8>, _ failure: TransportFailure?, to exchange: RequestTask?, _ device: String
  ) -> Bool {
    guard let exchange, !exchange.isOver else { return false }
    guard !offline.contains(device) else {
      exchange.complete(Self.reset)
      return false
    }
    let part = rest.prefix(SimulatedServer.partBytes)
    rest = rest.dropFirst(part.count)
    if !part.isEmpty { part.withUnsafeBytes { exchange.receive($0) } }
    if rest.isEmpty { exchange.complete(failure) }
    return !rest.isEmpty
  }

  private func note(_ request: Request, from device: String) {
    for operation in Self.operations(of: request) {
      let key = operation.idempotencyKey ?? ""
      senders[key] = device
      if let before = operations.updateValue(operation, forKey: key), before != operation { changedKeys.insert(key) }
    }
  }

  private func later(_ microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    scheduler.after(microseconds, body)
  }

  private func answer(_ exchange: RequestTask, _ status: Int, _ headers: [String: String], _ body: [UInt8]) {
    later(2 * latency()) { [weak exchange] in
      guard let exchange else { return }
      exchange.receive(ResponseHead(status: status, headers: headers))
      body.withUnsafeBytes { exchange.receive($0) }
      exchange.complete(nil)
    }
  }

  /// Ends an exchange at its timeouts.
  private func expire(_ exchange: RequestTask) {
    let instant = scheduler.instant
    let next = exchange.look(at: instant)
    guard !exchange.isOver else { return }
    later(max(1, Int64((next - instant) / .microseconds(1)))) { [weak exchange] in
      if let exchange, !exchange.isOver { self.expire(exchange) }
    }
  }

  private static func request(_ outgoing: OutgoingRequest, _ pageSize: Int?) -> Request {
    let rest = outgoing.url.dropFirst("http://".count).drop { $0 != "/" }
    let parts = rest.split(separator: "?", maxSplits: 1)
    var query: [String: String] = [:]
    for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
        String($0).removingPercentEncoding ?? ""
      }
      query[sides[0]] = sides.count > 1 ? sides[1] : ""
    }
    if let pageSize, query["limit"] != nil { query["limit"] = String(pageSize) }
    var headers: [String: String] = [:]
    for header in outgoing.headers { headers[header.name.lowercased()] = header.value }
    let length = outgoing.body.map { Int64($0.count) } ?? outgoing.upload?.byteCount
    if let length { headers["content-length"] = String(length) }
    return Request(
      method: outgoing.method, path: (parts.first.map(String.init) ?? "/").removingPercentEncoding ?? "/",
      query: query, headers: headers, body: outgoing.body ?? [])
  }
}
