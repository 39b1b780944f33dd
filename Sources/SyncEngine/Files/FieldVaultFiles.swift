import CipherSQL
import SealedFiles
import SyncModel
import WebTransport

/// The files of a FieldVault server, as `FileEndpoints.md` has them.
public struct FieldVaultFiles: FileRemote {
  let transport: HTTPTransport
  private let uploads: TusClient
  private let downloads: FileDownload
  private let known = Locked<FileWay?>(nil)

  /// Files of the server of a transport.
  public init(transport: HTTPTransport) {
    self.transport = transport
    uploads = TusClient(transport: transport, endpoint: Self.endpoint)
    downloads = FileDownload(transport: transport)
  }

  static let endpoint = "/v1/files"

  // MARK: Which way

  /// How the server takes and gives files; asked once.
  private func way() async throws(TransportFailure) -> FileWay {
    if let way = known.withLock({ $0 }) { return way }
    var request = HTTPRequest(Self.endpoint, isAuthorized: false)
    request.method = "OPTIONS"
    let answer = try await transport.send(request)
    if let failure = FileDownload.stranger(answer) { throw failure }
    let way = FileWay(answer)
    // What is said while something is wrong is not kept.
    if (200..<500).contains(answer.status) { known.withLock { $0 = way } }
    return way
  }

  /// Whether the server takes files in another way by now than was known.
  private func hasAnotherWay(than way: FileWay) async throws(TransportFailure) -> Bool {
    known.withLock { $0 = nil }
    return try await self.way().isPresigned != way.isPresigned
  }

  // MARK: Sending

  /// By tus, or to an address of an object store, as the server wants it.
  public func send(
    _ file: UploadSource, _ name: FileName, address: String?, link: FileLink,
    remember: @Sendable (String?) async throws -> Void, progress: @escaping @Sendable (Int64) async -> Void
  ) async -> UploadResult {
    var address = address
    do throws(TransportFailure) {
      while true {
        let way = try await way()
        let result = await send(file, name, way, address, link, remember, progress)
        guard case .refused(404 | 405)? = result.problem, try await hasAnotherWay(than: way) else { return result }
        address = nil
      }
    } catch {
      return UploadResult(problem: .transport(error), offset: 0, link: link)
    }
  }

  private func send(
    _ file: UploadSource, _ name: FileName, _ way: FileWay, _ address: String?, _ link: FileLink,
    _ remember: @Sendable (String?) async throws -> Void, _ progress: @escaping @Sendable (Int64) async -> Void
  ) async -> UploadResult {
    // What was remembered of the one way is nothing to the other.
    let key = address.flatMap { $0.hasPrefix(Self.mark) ? String($0.dropFirst(Self.mark.count)) : nil }
    switch way {
    case .tus(let server):
      var link = link
      let result = await uploads.upload(
        file, metadata: [("content", name.contentUuid), ("variant", name.variant.rawValue)],
        address: key == nil ? address : nil, server: link.server ?? server, chunk: link.chunk, remember: remember,
        progress: progress)
      (link.server, link.chunk) = (result.server, result.chunk)
      return UploadResult(problem: result.problem, offset: result.offset, link: link)
    case .presigned(let greatest):
      let upload = PresignedUpload(transport: transport, api: Self.api(of: name, greatest))
      let result = await upload.upload(
        file, key: key, remember: { key in try await remember(Self.mark + key) }, progress: progress)
      return UploadResult(problem: result.problem, offset: result.offset, link: link)
    }
  }

  /// Tells what was remembered of an address from the address of an upload by tus.
  private static let mark = "presigned:"

  private static func api(of name: FileName, _ greatest: Int64?) -> PresignedAPI {
    let path = "\(endpoint)/\(name.text)"
    var api = PresignedAPI(
      ask: .init(
        "POST", path + "/address",
        body: ["bytes": "{bytes}", "sha256": "{sha256}", "contentType": "{contentType}"]),
      confirm: .init("POST", path + "/confirm", body: ["upload": "{key}"]))
    api.keyAt = ["upload"]
    api.existsTypes = [TusPlan.contentExists]
    api.absentStatuses = [404, 409]
    api.greatestBytes = greatest
    return api
  }

  // MARK: Fetching

  /// By `GET` with a range, from the server or an address that it names. Whether it is the right file is the vault's to find
  /// out: it has the key.
  public func fetch(
    _ name: FileName, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem) {
    let found: SealedFileBeginning
    do throws(SealedFileError) {
      found = try SealedFileBeginning(ofFileAt: part)
      // An earlier attempt was through and did not come to say so. Which of the two the server keeps, it does not tell.
      if found == .finished, try SealedFileBeginning.isWhole(part) { return }
    } catch {
      throw .notWritten
    }
    // Opened when it is known what it is, and once: that an address expires on the way changes nothing about the file.
    var place: (any ArrivingFile)?
    try await withSource(of: name) { source async throws(DownloadProblem) in
      let open: any ArrivingFile
      if let place {
        open = place
      } else {
        let isSealed =
          switch found {
          case .unfinished: false
          // What an encrypted file was begun with says nothing about what another device has sent since.
          case .nothing, .notSealed, .finished: try await self.isSealed(source)
          }
        open = isSealed ? try PartFile(part, beginsWith: SealedFileBeginning.mark) : try ArrivingContent(part, sealing)
        place = open
      }
      try await downloads.fetch(source, into: open, progress: progress)
    }
  }

  /// Runs a body with the request that fetches a file; again with another, where an address has expired.
  private func withSource(
    of name: FileName, _ body: (HTTPRequest) async throws(DownloadProblem) -> Void
  ) async throws(DownloadProblem) {
    let path = "\(Self.endpoint)/\(name.text)"
    do throws(DownloadProblem) {
      guard try await wayToFetch().isPresigned else { return try await body(HTTPRequest(path)) }
      try await withPresignedSource(path, body)
    } catch {
      // The server may have begun to keep files elsewhere since it was asked.
      if case .refused = error { known.withLock { $0 = nil } }
      throw error
    }
  }

  private func wayToFetch() async throws(DownloadProblem) -> FileWay {
    do throws(TransportFailure) { return try await way() } catch { throw .transport(error) }
  }

  /// Which of some files the server does not have: `POST /v1/files/missing`. A server that does not know the question says
  /// nothing against any file.
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
  private func isSealed(_ source: HTTPRequest) async throws(DownloadProblem) -> Bool {
    var request = source
    request.headers += [("Accept-Encoding", "identity"), ("Range", "bytes=0-\(SealedFileBeginning.byteCount - 1)")]
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

/// How a server takes and gives files.
enum FileWay: Sendable {
  /// It keeps them itself; this is what it can do of tus.
  case tus(TusServer)
  /// It names addresses of an object store; the longest file that it takes, in bytes.
  case presigned(greatestBytes: Int64?)

  /// What an answer to `OPTIONS` says; a server that says nothing takes files by tus.
  init(_ answer: HTTPAnswer) {
    let isPresigned = (200..<300).contains(answer.status) && answer.headers["fieldvault-uploads"] == "presigned"
    self =
      isPresigned
      ? .presigned(greatestBytes: answer.headers["fieldvault-max-size"].flatMap { Int64($0) })
      : .tus((200..<300).contains(answer.status) ? TusServer(answer.headers) : TusServer())
  }

  var isPresigned: Bool { if case .presigned = self { true } else { false } }
}
