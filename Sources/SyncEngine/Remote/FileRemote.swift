import OfflineStore

/// The part of a server that keeps files.
public protocol FileRemote: Sendable {
  /// Sends a file, going on where an earlier attempt has stopped.
  /// - Parameters:
  ///   - address: of the upload that was begun; nil for none.
  ///   - link: what was learned with the files before.
  ///   - remember: stores the address durably before anything is sent there.
  ///   - progress: is told how much the server has; the next part goes when it returns.
  func send(
    _ file: TusSource, _ name: FileName, address: String?, link: FileLink,
    remember: @Sendable (String?) async throws -> Void, progress: @Sendable (Int64) async -> Void
  ) async -> TusResult

  /// Fetches a file into a part file, going on with what is there.
  func fetch(
    _ name: FileName, into part: String, progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem)
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
}

/// What is known of the way to a server of files; each file learns from those before.
public struct FileLink: Sendable {
  /// What the server can; nil until it was asked.
  public var server: TusServer?
  /// How much is sent at a time.
  public var chunk = ChunkSize()

  /// Nothing is known yet.
  public init() {}
}

/// The files of a FieldVault server, as `FileEndpoints.md` has them.
public struct FieldVaultFiles: FileRemote {
  private let transport: HTTPTransport
  private let uploads: TusClient
  private let downloads: FileDownload

  /// Files of the server of a transport.
  public init(transport: HTTPTransport) {
    self.transport = transport
    uploads = TusClient(transport: transport, endpoint: Self.endpoint)
    downloads = FileDownload(transport: transport)
  }

  private static let endpoint = "/v1/files"

  /// By tus; the metadata names the content, so that the server can tell when it has it already.
  public func send(
    _ file: TusSource, _ name: FileName, address: String?, link: FileLink,
    remember: @Sendable (String?) async throws -> Void, progress: @Sendable (Int64) async -> Void
  ) async -> TusResult {
    await uploads.upload(
      file, metadata: [("content", name.contentUuid), ("variant", name.variant.rawValue)], address: address,
      server: link.server, chunk: link.chunk, remember: remember, progress: progress)
  }

  /// By `GET` with a range. Whether it is the right file is the vault's to find out: it has the key.
  public func fetch(
    _ name: FileName, into part: String, progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem) {
    let path = "\(Self.endpoint)/\(name.contentUuid)/\(name.variant.rawValue)"
    _ = try await downloads.fetch(path, into: part, verify: { _ in true }, progress: progress)
  }
}
