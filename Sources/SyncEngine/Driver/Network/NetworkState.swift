/// The state of the way to the server.
public enum NetworkState: String, CaseIterable, Sendable {
  /// There is a network interface, and the server responds.
  case online
  /// There is no network interface.
  case offline
  /// There is a network interface, but the server does not respond, or another service does: a captive portal, a
  /// network without internet, a stopped server. Sync treats it as offline.
  case limited
}
