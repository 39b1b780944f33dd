/// The version of FieldVault: of the library and of its programs.
public enum ProductVersion {
  /// The version, such as `0.4.0`.
  public static let current = "0.4.0"
}

/// The version of the wire format that `WireFormat.md` specifies.
public enum WireProtocol {
  /// The version that this program speaks.
  public static let version: Int64 = 2
  /// The versions of devices that a server accepts.
  public static let accepted: ClosedRange<Int64> = 2...2
  /// The request header in which a device sends its version.
  public static let header = "FieldVault-Protocol"
  /// The request header in which a device sends its id.
  public static let deviceHeader = "FieldVault-Device"

  /// Returns whether a server accepts a request, judged by the value of its version header.
  public static func accepts(_ header: String?) -> Bool {
    header.flatMap { Int64($0) }.map(accepted.contains) ?? false
  }
}

/// The rights of a token.
public enum TokenRole: String, CaseIterable, Sendable {
  /// A device of a user.
  case device
  /// A service program that fills server-owned fields.
  case service
  /// An administrator. The role neither pushes nor pulls.
  case admin
}
