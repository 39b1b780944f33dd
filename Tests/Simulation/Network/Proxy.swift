import CipherSQL
import Foundation
import Glibc
import SyncModel
import TestSupport

/// A proxy between devices and server that applies network faults. Each connection has a thread of its own.
final class Proxy: Sendable {
  let port: UInt16
  private let server: UInt16
  private let listener: Int32

  private struct State {
    var random: Seeded
    var isFaulty = false
    var sparesData = false
    var counts: [Fault: Int] = [:]
    var operations: [String: PushOperation] = [:]
    /// The running requests that transfer a file, with the name of their sender.
    var files: [String] = []
    /// Such requests that came while things went wrong.
    var disturbedFiles = 0
    var open: [ObjectIdentifier: SocketStream] = [:]
  }
  private let state: Locked<State>

  init(to server: UInt16, seed: UInt64) throws {
    self.server = server
    state = Locked(State(random: Seeded(seed, "proxy", 0)))
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    port = try Ports.bind(listener)
    guard listen(listener, 128) == 0 else { throw Unexpected("listen: \(String(cString: strerror(errno)))") }
    Thread.detachNewThread { [self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        if descriptor < 0 {
          if errno == EINTR || errno == ECONNABORTED { continue }
          return
        }
        let client = SocketStream(descriptor)
        Thread.detachNewThread { [self] in serve(client) }
      }
    }
  }

  /// Ends for good.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    calm()
  }

  /// How often each fault was done.
  var counts: [Fault: Int] { state.withLock { $0.counts } }

  /// Requests that carried a file or asked for one while things went wrong, and reached the server.
  var disturbedFiles: Int { state.withLock { $0.disturbedFiles } }

  /// The operations that devices have sent.
  var operations: [String: PushOperation] { state.withLock { $0.operations } }

  /// Whose files are on their way, to the server or from it: tokens.
  var filesOnTheirWay: [String] { state.withLock { $0.files } }

  /// Applies faults from now on.
  /// - Parameter sparesData: lets most requests without a file pass, so that files are transferred.
  func disturb(sparesData: Bool) { state.withLock { ($0.isFaulty, $0.sparesData) = (true, sparesData) } }

  /// Lets everything pass from now on, and ends hanging requests.
  func calm() {
    let open = state.withLock { state in
      state.isFaulty = false
      return Array(state.open.values)
    }
    for stream in open { stream.end() }
  }

  private func serve(_ client: SocketStream) {
    register(client)
    defer { forget(client) }
    var rest: [UInt8] = []
    while let request = client.message(&rest) {
      note(request)
      let (fault, random) = choose(request)
      var dice = random
      let sender = Self.movesFile(request) ? Self.token(request) : nil
      if let sender { state.withLock { $0.files.append(sender) } }
      let goesOn = respond(to: request, client, fault, &dice)
      if let sender { _ = state.withLock { $0.files.remove(at: $0.files.firstIndex(of: sender) ?? 0) } }
      guard goesOn else { break }
    }
    client.end()
  }

  private func note(_ request: [UInt8]) {
    guard request.starts(with: Array("POST /v1/push".utf8)), let start = request.firstIndex(of: UInt8(ascii: "{")),
      let push = try? PushRequest(json: Array(request[start...]))
    else { return }
    state.withLock { state in
      for operation in push.operations { state.operations[operation.idempotencyKey ?? ""] = operation }
    }
  }

  private func choose(_ request: [UInt8]) -> (Fault, Seeded) {
    let movesFile = Self.movesFile(request)
    return state.withLock { state in
      let isSpared = state.sparesData && !movesFile && state.random.chance(0.85)
      let fault = state.isFaulty && !isSpared ? Fault.random(&state.random) : .pass
      state.counts[fault, default: 0] += 1
      return (fault, Seeded(state.random.next()))
    }
  }

  /// Whether the connection goes on.
  private func respond(to request: [UInt8], _ client: SocketStream, _ fault: Fault, _ random: inout Seeded) -> Bool {
    switch fault {
    case .pass:
      guard let response = ask(request) else { return false }
      return Self.movesFile(request) ? writeSlowly(response, to: client) : client.write(response)
    case .delay:
      usleep(UInt32(random.number(2_000..<60_000)))
      return ask(request).map { client.write($0) } ?? false
    case .cutRequest:
      SocketStream(connectingTo: server)?.write(request.prefix(random.number(0..<request.count)))
      return false
    case .cutResponse:
      guard let response = ask(request) else { return false }
      client.write(response.prefix(random.number(0..<response.count)))
      return false
    case .swallow:
      _ = ask(request)
      // Until the device gives up, or the faults stop.
      while client.read() != nil {}
      return false
    case .repeated: return twice(request, client, &random)
    case .error: return client.write(Fault.errorResponse(&random))
    case .portal: return client.write(Fault.portalResponse)
    case .trickle:
      guard let response = ask(request) else { return false }
      let size = max(1, response.count / 20)
      for start in stride(from: 0, to: response.count, by: size) {
        guard client.write(response[start..<min(start + size, response.count)]) else { return false }
        usleep(3_000)
      }
      return true
    }
  }

  private func twice(_ request: [UInt8], _ client: SocketStream, _ random: inout Seeded) -> Bool {
    let takesFirst = random.chance(0.5)
    if random.chance(0.5) {
      let first = ask(request)
      let second = ask(request)
      return (takesFirst ? first : second).map { client.write($0) } ?? false
    }
    let other = Locked<[UInt8]?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [self] in
      let response = ask(request)
      other.withLock { $0 = response }
      done.signal()
    }
    let first = ask(request)
    done.wait()
    return (takesFirst ? first : other.withLock { $0 }).map { client.write($0) } ?? false
  }

  /// The server's response; `nil` without one.
  private func ask(_ request: [UInt8]) -> [UInt8]? {
    guard let stream = SocketStream(connectingTo: server) else { return nil }
    register(stream)
    defer { forget(stream) }
    let movesFile = Self.movesFile(request)
    if movesFile { state.withLock { $0.disturbedFiles += $0.isFaulty ? 1 : 0 } }
    var rest: [UInt8] = []
    return (movesFile ? writeSlowly(request, to: stream) : stream.write(request)) ? stream.message(&rest) : nil
  }

  private static func movesFile(_ request: [UInt8]) -> Bool {
    ["PATCH /v1/files/", "POST /v1/files ", "GET /v1/files/"].contains { request.starts(with: $0.utf8) }
  }

  private static func token(_ request: [UInt8]) -> String? {
    let head = String(decoding: request.prefix(4_096), as: UTF8.self)
    let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("authorization:") }
    return line?.split(separator: " ").last.map(String.init)
  }

  /// Some 5 MB in a second while things go wrong, so that much may happen while a file is on its way.
  private func writeSlowly(_ bytes: [UInt8], to stream: SocketStream) -> Bool {
    for start in stride(from: 0, to: bytes.count, by: 65_536) {
      if start > 0, state.withLock({ $0.isFaulty }) { usleep(12_000) }
      guard stream.write(bytes[start..<min(start + 65_536, bytes.count)]) else { return false }
    }
    return true
  }

  private func register(_ stream: SocketStream) { state.withLock { $0.open[ObjectIdentifier(stream)] = stream } }
  private func forget(_ stream: SocketStream) { state.withLock { $0.open[ObjectIdentifier(stream)] = nil } }
}
