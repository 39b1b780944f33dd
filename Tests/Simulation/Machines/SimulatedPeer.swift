import HTTPServer

/// How a request reaches the peer of the devices.
struct Delivery: Sendable {
  let device: String
  /// The number of bytes of the body after which the connection ends; `nil` for a whole body.
  let cut: Int?
  /// Whether the device still waits for the response. It does not for a request that arrives twice or late.
  let isAwaited: Bool
  /// The probability that a request goes wrong.
  let trouble: Double
}

/// The peer of the devices: a server, or an API.
protocol SimulatedPeer: Sendable {
  var machine: Machine { get }
  /// Grows with each start and each crash.
  var generation: Int { get }

  /// Returns the response to a request; `nil` if the peer does not run to its end.
  func respond(to request: Request, _ delivery: Delivery) async -> Response?

  /// Notes that a device begins a round without faults.
  func beginRound(of device: String)
}
