import CipherSQL
import SyncModel
import HTTPClient

/// The files of a FieldVault server, as specified in `FileEndpoints.md`.
public struct FieldVaultFiles: FileRemote {
  let transport: HTTPTransport
  private let uploads: TusClient
  let downloads: FileDownload
  private let known = Locked<UploadProtocol?>(nil)

  /// Creates a client for the files of the server of a transport.
  public init(transport: HTTPTransport) {
    self.transport = transport
    uploads = TusClient(transport: transport, endpoint: Self.endpoint)
    downloads = FileDownload(transport: transport)
  }

  static let endpoint = "/v1/files"

  // MARK: Which way

  /// The server's upload protocol, requested once.
  func way() async throws(TransportFailure) -> UploadProtocol {
    if let way = known.withLock({ $0 }) { return way }
    var request = HTTPRequest(Self.endpoint, isAuthorized: false)
    request.method = "OPTIONS"
    let response = try await transport.send(request)
    if let failure = FileDownload.stranger(response) { throw failure }
    // Without the server's checksums, damaged bytes would reach it unnoticed.
    if UploadProtocol.isTransient(response.status) { throw .unreachable(status: response.status) }
    let way = UploadProtocol(response)
    known.withLock { $0 = way }
    return way
  }

  /// Asks again which way the server wants, the next time.
  func forgetWay() { known.withLock { $0 = nil } }

  /// Returns whether the server's upload protocol has changed.
  private func hasAnotherWay(than way: UploadProtocol) async throws(TransportFailure) -> Bool {
    forgetWay()
    return try await self.way().isPresigned != way.isPresigned
  }

  // MARK: Sending

  /// Uploads by tus or to an address of an object store, as the server requires.
  public func send(
    _ file: UploadSource, _ name: FileName, address: String?, link: FileServerState,
    remember: @Sendable (String?) async throws -> Void, progress: @escaping @Sendable (Int64) async -> Void
  ) async -> UploadResult {
    var address = address
    do throws(TransportFailure) {
      while true {
        let way = try await way()
        let result = await send(file, name, way, address, link, remember, progress)
        // The protocol may have changed since it was requested, so the next attempt requests it again.
        if case .tooLarge? = result.problem {
          forgetWay()
          return UploadResult(problem: .tooLarge, offset: result.offset, link: FileServerState())
        }
        guard case .refused(404 | 405)? = result.problem, try await hasAnotherWay(than: way) else { return result }
        address = nil
      }
    } catch {
      return UploadResult(problem: .transport(error), offset: 0, link: link)
    }
  }

  private func send(
    _ file: UploadSource, _ name: FileName, _ way: UploadProtocol, _ address: String?, _ link: FileServerState,
    _ remember: @Sendable (String?) async throws -> Void, _ progress: @escaping @Sendable (Int64) async -> Void
  ) async -> UploadResult {
    // The stored address of one protocol is meaningless for the other.
    let key = address.flatMap { $0.hasPrefix(Self.mark) ? String($0.dropFirst(Self.mark.count)) : nil }
    switch way {
    case .tus(let server):
      var link = link
      let result = await uploads.upload(
        file, metadata: [("content", name.contentUuid), ("variant", name.variant.rawValue)],
        address: key == nil ? address : nil, server: link.server ?? server, chunk: link.chunk, remember: remember,
        progress: progress)
      (link.server, link.chunk) = (result.server, result.chunk)
      return UploadResult(problem: result.problem, offset: result.offset, link: link, wasSent: result.address != nil)
    case .presigned(let greatest):
      let upload = PresignedUpload(transport: transport, api: Self.api(of: name, greatest))
      let result = await upload.upload(
        file, key: key, remember: { key in try await remember(Self.mark + key) }, progress: progress)
      return UploadResult(problem: result.problem, offset: result.offset, link: link, wasSent: result.key != nil)
    }
  }

  /// Distinguishes a stored key of an upload to an address from the URL of a tus upload.
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

  /// Returns the files that the server lacks: `POST /v1/files/missing`. For a server without this endpoint the result is empty.
  public func missing(among files: [FileName]) async throws(RemoteFailure) -> Set<FileName> {
    let request = MissingFilesRequest(files: files.map(\.text))
    do throws(RemoteFailure) {
      let response: MissingFilesResponse = try await transport.ask(
        HTTPRequest(Self.endpoint + "/missing", body: request.jsonBytes))
      let names = Set(response.missing)
      return Set(files.filter { names.contains($0.text) })
    } catch {
      if [404, 405].contains(error.problem?.status) { return [] }
      throw error
    }
  }

  /// Returns the digests of the server's files: `POST /v1/files/digests`. `nil` from a server without this endpoint.
  public func digests(of files: [FileName]) async throws(RemoteFailure) -> [FileName: FileDigestsResponse.Held]? {
    let request = MissingFilesRequest(files: files.map(\.text))
    do throws(RemoteFailure) {
      let response: FileDigestsResponse = try await transport.ask(
        HTTPRequest(Self.endpoint + "/digests", body: request.jsonBytes))
      var held: [FileName: FileDigestsResponse.Held] = [:]
      for file in files { held[file] = response.files[file.text] }
      return held
    } catch {
      if [404, 405].contains(error.problem?.status) { return nil }
      throw error
    }
  }
}
