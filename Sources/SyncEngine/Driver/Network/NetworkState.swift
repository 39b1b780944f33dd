/// The state of the connection to the server.
public enum NetworkState: String, CaseIterable, Sendable {
  /// A network interface is available, and the server responds.
  case online
  /// No network interface is available.
  case offline
  /// A network interface is available, but the server does not respond, or another service does. Examples are a captive
  /// portal, a network without internet access, and a stopped server. Sync treats it as offline.
  case limited
}
