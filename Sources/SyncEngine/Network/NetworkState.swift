/// What is known of the way to the server.
public enum NetworkState: String, CaseIterable, Sendable {
  /// There is a network interface, and the server answers.
  case online
  /// There is no network interface.
  case offline
  /// There is a network interface, but the server does not answer, or somebody else does: a captive portal, a network
  /// without internet, a server that is down. Sync treats it as offline.
  case limited
}
