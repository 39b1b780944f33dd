import HTTPClient

/// The state of the network, as the transfer queue reads and reports it.
package protocol TransferNetwork: Sendable {
  /// Whether no network interface is available, so that no transfer can begin.
  var isOffline: Bool { get }
  /// Whether data costs nothing extra.
  var isUnmetered: Bool { get }
  /// Reports the result of a request.
  func report(_ responseClass: ResponseClass)
}
