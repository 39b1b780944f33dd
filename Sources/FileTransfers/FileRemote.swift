import HTTPClient
import VaultStore
import SyncModel

/// The part of a server that keeps files.
public protocol FileRemote: Sendable {
  /// Whether the remote requires decrypted files, whatever the vault's setting is, because it processes images.
  var takesPlaintext: Bool { get }

  /// Uploads a file, and resumes an earlier attempt.
  /// - Parameters:
  ///   - address: the stored address of an upload that was begun, or `nil`.
  ///   - link: the facts that earlier files have shown about the server.
  ///   - remember: stores the address durably before any byte is sent there.
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

  /// Which of some files the server does not have; at most `MissingFilesRequest.greatestCount` are asked for.
  func missing(among files: [FileName]) async throws(RemoteFailure) -> Set<FileName>

  /// Returns the digests of the server's files; `nil` from a server that does not support this. Takes at most
  /// `FileComparison.greatestCount` names.
  func digests(of files: [FileName]) async throws(RemoteFailure) -> [FileName: FileDigestsResponse.Held]?
}

extension FileRemote {
  /// Both forms are accepted.
  public var takesPlaintext: Bool { false }

  /// The server does not tell.
  public func digests(of files: [FileName]) async throws(RemoteFailure) -> [FileName: FileDigestsResponse.Held]? { nil }
}

/// Which file of which content.
public struct FileName: Hashable, Sendable {
  /// The uuid of the content, in lower case.
  public let contentUuid: String
  /// The content or its small picture.
  public let variant: AttachmentVariant

  /// A name from its parts.
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

  /// Nothing is known yet.
  public init() {}
}
