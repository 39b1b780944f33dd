import OfflineStore
import SyncModel

/// The part of a server that keeps files.
public protocol FileRemote: Sendable {
  /// Whether it has to be given what a file holds, whatever the vault's setting says: it works with images.
  var takesPlaintext: Bool { get }

  /// Sends a file, going on where an earlier attempt has stopped.
  /// - Parameters:
  ///   - address: what was remembered of an upload that was begun; nil for none.
  ///   - link: what was learned with the files before.
  ///   - remember: stores the address, or what else the upload is found by, durably before anything is sent there.
  ///   - progress: is told how much the server has; the next part goes when it returns.
  func send(
    _ file: UploadSource, _ name: FileName, address: String?, link: FileServerState,
    remember: @Sendable (String?) async throws -> Void, progress: @escaping @Sendable (Int64) async -> Void
  ) async -> UploadResult

  /// Fetches a file into a part file, encrypted, going on with what is there.
  /// - Parameter sealing: for a file that the server keeps unencrypted.
  func fetch(
    _ name: FileName, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem)

  /// Which of some files the server does not have; at most `MissingFilesRequest.greatestCount` are asked for.
  func missing(among files: [FileName]) async throws(RemoteFailure) -> Set<FileName>

  /// What the server holds of some files; nil from a server that does not tell. At most `FileComparison.greatestCount` are asked
  /// for.
  func digests(of files: [FileName]) async throws(RemoteFailure) -> [FileName: FileDigestsResponse.Held]?
}

extension FileRemote {
  /// Both are taken.
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

  /// As it stands in messages.
  var text: String { contentUuid + "/" + variant.rawValue }
}

/// What is known of the way to a server of files; each file learns from those before.
public struct FileServerState: Sendable {
  /// What the server can; nil until it was asked.
  public var server: TusServer?
  /// How much is sent at a time.
  public var chunk = ChunkSize()

  /// Nothing is known yet.
  public init() {}
}
