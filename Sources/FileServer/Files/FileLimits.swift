/// The limits of files.
public struct FileLimits: Sendable {
  /// The largest file, in bytes.
  public var fileBytes: Int64 = 10 << 30
  /// The quota of the files of one user, in bytes.
  public var quotaBytes: Int64 = 100 << 30
  /// The media types of files that are sent to an object store. Files that are sent to the server itself are bytes.
  public var contentTypes = ContentTypes.usual
  /// Seconds after which an upload that got no bytes is given up.
  public var uploadSeconds = 7 * 86_400
  /// Uploads of one user that may get bytes at once.
  public var uploadsAtOnce = 64
  /// The burst of requests about files per user, and the sustained requests per second. They are counted separately
  /// from those about records, so that neither delays the other.
  public var requestBurst = 5_000
  /// See ``requestBurst``.
  public var requestsPerSecond = 1_000

  /// The limits that `FileEndpoints.md` states.
  public init() {}
}
