import CipherSQL
import OfflineStore
import SealedFiles
import SyncModel
import WebTransport

/// The part of a server that keeps files.
public protocol FileRemote: Sendable {
  /// Whether it has to be given what a file holds, whatever the vault's setting says: it works with images.
  var takesPlaintext: Bool { get }

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

  /// Fetches a file into a part file, encrypted, going on with what is there.
  /// - Parameter sealing: for a file that the server keeps unencrypted.
  func fetch(
    _ name: FileName, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem)

  /// Which of some files the server does not have; at most ``MissingFilesRequest/greatestCount`` are asked for.
  func missing(among files: [FileName]) async throws(RemoteFailure) -> Set<FileName>
}

extension FileRemote {
  /// Both are taken.
  public var takesPlaintext: Bool { false }
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
    _ name: FileName, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem) {
    let path = "\(Self.endpoint)/\(name.contentUuid)/\(name.variant.rawValue)"
    let found: SealedFileBeginning
    do throws(SealedFileError) {
      found = try SealedFileBeginning(ofFileAt: part)
      // An earlier attempt was through and did not come to say so. Which of the two the server keeps, it does not tell.
      if found == .finished, try SealedFileBeginning.isWhole(part) { return }
    } catch {
      throw .notWritten
    }
    let isSealed =
      switch found {
      case .unfinished: false
      // What an encrypted file was begun with says nothing about what another device has sent since.
      case .nothing, .notSealed, .finished: try await self.isSealed(path)
      }
    let place: any ArrivingFile =
      isSealed ? try PartFile(part, beginsWith: SealedFileBeginning.mark) : try ArrivingContent(part, sealing)
    try await downloads.fetch(path, into: place, progress: progress)
  }

  /// `POST /v1/files/missing`. A server that does not know the question says nothing against any file.
  public func missing(among files: [FileName]) async throws(RemoteFailure) -> Set<FileName> {
    let request = MissingFilesRequest(files: files.map(\.text))
    do throws(RemoteFailure) {
      let answer: MissingFilesAnswer = try await transport.ask(
        HTTPRequest(Self.endpoint + "/missing", body: request.jsonBytes))
      let names = Set(answer.missing)
      return Set(files.filter { names.contains($0.text) })
    } catch {
      if [404, 405].contains(error.problem?.status) { return [] }
      throw error
    }
  }

  /// Whether the server keeps a file encrypted, as its first bytes tell.
  private func isSealed(_ path: String) async throws(DownloadProblem) -> Bool {
    var request = HTTPRequest(path)
    request.headers = [("Accept-Encoding", "identity"), ("Range", "bytes=0-\(SealedFileBeginning.byteCount - 1)")]
    let first = Locked<[UInt8]>([])
    request.download = HTTPDownload { head in
      guard head.status == 200 || head.status == 206 else { return nil }
      // A server without ranges sends all of it.
      return { bytes in first.withLock { $0 += bytes.prefix(max(0, SealedFileBeginning.byteCount - $0.count)) } }
    }
    let answer: HTTPAnswer
    do throws(TransportFailure) {
      answer = try await transport.send(request)
    } catch {
      throw .transport(error)
    }
    if let failure = FileDownload.stranger(answer) { throw .transport(failure) }
    // Nothing can be asked of what is empty, and no encrypted file is that.
    if [200, 206, 416].contains(answer.status) { return SealedFileBeginning(first.withLock { $0 }) == .finished }
    var plan = DownloadPlan(bytes: 0, tag: nil)
    let refusal = DownloadPlan.Event.refused(
      status: answer.status, retryAfterSeconds: answer.retryAfterSeconds, length: nil)
    guard case .stop(let problem) = plan.next(after: refusal) else { throw .refused(status: answer.status) }
    throw problem
  }
}
