/// The limits of files.
public struct FileLimits: Sendable {
  /// The largest file, in bytes.
  public var fileBytes: Int64 = 10 << 30
  /// The quota of the files of one user, in bytes.
  public var quotaBytes: Int64 = 100 << 30
  /// The media types of files that are sent to an object store. Files that are sent to the server have no media type.
  public var contentTypes = ContentTypes.usual
  /// The seconds without new bytes after which an upload expires.
  public var uploadSeconds = 7 * 86_400
  /// The greatest number of uploads of one user that receive bytes at the same time.
  public var uploadsAtOnce = 64
  /// The burst of requests about files per user, and the sustained requests per second. They are counted separately
  /// from requests about records, so that neither kind delays the other.
  public var requestBurst = 5_000
  /// The sustained requests per second; see ``requestBurst``.
  public var requestsPerSecond = 1_000

  /// The limits that `FileEndpoints.md` states.
  public init() {}

  /// The quota that a file uses in addition to its bytes, so that many empty files are not free.
  package static let overhead: Int64 = 4_096
}
