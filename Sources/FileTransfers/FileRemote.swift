import HTTPClient
import VaultStore
import SyncModel

/// The part of a server that stores files.
public protocol FileRemote: Sendable {
  /// Whether the remote requires decrypted files, independent of the setting of the vault, because it processes images.
  var takesPlaintext: Bool { get }

  /// Uploads a file, and resumes an earlier attempt.
  /// - Parameters:
  ///   - address: the stored address of an upload that was begun, or `nil`.
  ///   - link: the facts that earlier files have shown about the server.
  ///   - remember: stores the address durably before any byte is sent to it.
  ///   - progress: called with the number of bytes that the server has. The next part is sent after it returns.
  func send(
    _ file: UploadSource, _ name: FileName, address: String?, link: FileServerState,
    remember: @Sendable (String?) async throws -> Void, progress: @escaping @Sendable (Int64) async -> Void
  ) async -> UploadResult

  /// Downloads a file into a partial file, encrypted, and resumes an earlier attempt.
  /// - Parameter sealing: the encryption of a file that the server stores decrypted.
  func fetch(
    _ name: FileName, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem)

  /// Returns the files that the server lacks, for at most `MissingFilesRequest.greatestCount` names.
  func missing(among files: [FileName]) async throws(RemoteFailure) -> Set<FileName>

  /// Returns the digests of the server's files; `nil` from a server that does not support this. Accepts at most
  /// `FileComparison.greatestCount` names.
  func digests(of files: [FileName]) async throws(RemoteFailure) -> [FileName: FileDigestsResponse.Held]?
}

extension FileRemote {
  /// `false`: both forms are accepted.
  public var takesPlaintext: Bool { false }

  /// Returns `nil`: by default, the server does not provide digests.
  public func digests(of files: [FileName]) async throws(RemoteFailure) -> [FileName: FileDigestsResponse.Held]? { nil }
}

/// The name of a file: a content and a variant.
public struct FileName: Hashable, Sendable {
  /// The uuid of the content, in lower case.
  public let contentUuid: String
  /// The full content or its thumbnail.
  public let variant: AttachmentVariant

  /// Creates a name from its parts.
  public init(contentUuid: String, variant: AttachmentVariant) {
    (self.contentUuid, self.variant) = (contentUuid, variant)
  }

  /// The name in messages.
  var text: String { contentUuid + "/" + variant.rawValue }
}

/// Facts about the server that each file learns from the files before.
public struct FileServerState: Sendable {
  /// The capabilities of the server; `nil` before the first request.
  public var server: TusServer?
  /// The size of the next part.
  public var chunk = ChunkSize()

  /// Creates facts about an unknown server.
  public init() {}
}
