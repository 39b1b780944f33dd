/// A request to the key agent of a vault: one line.
enum AgentRequest: String, CaseIterable {
  /// Asks for the key of the vault and the end of its time.
  case open
  /// Asks for the end of the time.
  case status
  /// Ends the agent.
  case lock

  /// The longest request that an agent reads, in bytes.
  static let longest = 32

  /// The bytes of the request. The version is part of the line, so that an agent of another version does not respond.
  var line: [UInt8] { Array("fieldvault-agent/1 \(rawValue)\n".utf8) }

  /// The length of the response in bytes.
  var responseCount: Int {
    switch self {
    case .open: AgentSession.serializedCount
    case .status: AgentSession.endCount
    case .lock: 1
    }
  }

  /// The result of reading a request.
  enum Parsed: Equatable {
    case incomplete
    case request(AgentRequest)
    case invalid
  }

  /// Reads the bytes that a client has sent so far.
  static func parse(_ bytes: [UInt8]) -> Parsed {
    if let request = allCases.first(where: { $0.line == bytes }) { return .request(request) }
    let isBeginning = bytes.count < longest && allCases.contains { $0.line.starts(with: bytes) }
    return isBeginning ? .incomplete : .invalid
  }
}

/// The state of the key agent of one vault, without input and output: it takes events and returns effects.
struct KeyAgent {
  typealias Instant = ContinuousClock.Instant

  /// An event. A client is named by its descriptor.
  enum Event {
    /// A process connected. The user is `nil` if the system does not report it.
    case connected(Int32, user: UInt32?)
    /// A client sent bytes; none at the end of its input or after a failure.
    case received(Int32, [UInt8])
    /// Time has passed.
    case time
    /// The agent has to end: a signal, a changed keyring, a missing vault, or another agent in its place.
    case stopped
  }

  /// An effect, in the order of execution.
  enum Effect: Equatable {
    /// Sends the response and closes the connection.
    case respond(Int32, AgentRequest)
    case close(Int32)
    case end
  }

  /// The most clients at a time.
  static let maximumClients = 16
  /// The time in which a client sends its request.
  static let clientTime = Duration.seconds(2)

  private struct Client {
    var bytes: [UInt8] = []
    let deadline: Instant
  }

  private let owner: UInt32
  private let end: Instant
  private var clients: [Int32: Client] = [:]

  /// Creates the agent.
  /// - Parameters:
  ///   - owner: the only user whose processes it serves.
  ///   - end: the time when it ends.
  init(owner: UInt32, end: Instant) { (self.owner, self.end) = (owner, end) }

  /// The connected clients.
  var descriptors: [Int32] { clients.keys.sorted() }

  /// The next time when ``Event/time`` has an effect.
  var nextDeadline: Instant { clients.values.reduce(end) { min($0, $1.deadline) } }

  /// Handles an event.
  mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
    if now >= end { return [.end] }
    switch event {
    case .connected(let client, let user):
      guard user == owner else { return [.close(client)] }
      // The oldest client has had the most time for its request.
      let isFull = clients.count >= Self.maximumClients
      let oldest = isFull ? clients.min { $0.value.deadline < $1.value.deadline }?.key : nil
      if let oldest { clients[oldest] = nil }
      clients[client] = Client(deadline: now + Self.clientTime)
      return oldest.map { [.close($0)] } ?? []
    case .received(let client, let bytes): return received(bytes, from: client)
    case .time:
      let late = descriptors.filter { clients[$0].map { $0.deadline <= now } ?? false }
      for client in late { clients[client] = nil }
      return late.map { .close($0) }
    case .stopped: return [.end]
    }
  }

  private mutating func received(_ bytes: [UInt8], from client: Int32) -> [Effect] {
    guard var state = clients[client] else { return [] }
    state.bytes += bytes
    switch bytes.isEmpty ? .invalid : AgentRequest.parse(state.bytes) {
    case .incomplete:
      clients[client] = state
      return []
    case .invalid:
      clients[client] = nil
      return [.close(client)]
    case .request(let request):
      clients[client] = nil
      return [.respond(client, request)] + (request == .lock ? [.end] : [])
    }
  }
}
