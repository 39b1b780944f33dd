import Foundation
import SealedFiles
import SyncModel
import HTTPClient

/// The requests of tus 1.0, and the meaning of their responses.
extension TusClient {
  /// The reason why a request has no usable response.
  enum RequestProblem: Error {
    case failure(TransportFailure)
    case problem(UploadProblem)
  }

  func ask() async throws(RequestProblem) -> TusPlan.Event {
    let response = try await send("OPTIONS", endpoint)
    // A server without OPTIONS tells nothing about itself.
    let isUnsupported = response.status == 501 || (400..<500).contains(response.status) && response.status != 401
    if isUnsupported, !UploadProtocol.isTransient(response.status) { return .asked(TusServer()) }
    guard (200..<300).contains(response.status) else { return refusal(response) }
    return .asked(TusServer(response.headers))
  }

  func create(_ byteCount: Int64?, _ metadata: [(name: String, value: String)]) async throws(RequestProblem)
    -> TusPlan.Event
  {
    var headers = [byteCount.map { ("Upload-Length", String($0)) } ?? ("Upload-Defer-Length", "1")]
    let pairs = metadata.map { "\($0.name) \(Data($0.value.utf8).base64EncodedString())" }
    if !pairs.isEmpty { headers.append(("Upload-Metadata", pairs.joined(separator: ","))) }
    let nothing = HTTPUpload(byteCount: 0) { _, _ in 0 }
    let response = try await send("POST", endpoint, headers, nothing)
    guard response.status == 201 else { return refusal(response) }
    guard let location = response.headers["location"] else { throw .failure(Self.notTus) }
    do throws(TransportFailure) {
      let address = try transport.address.resolved(location, from: endpoint)
      guard transport.address.isOrigin(of: address) else {
        throw .notTheServer(detail: "the upload address is on another server")
      }
      return .created(address: address)
    } catch {
      throw .failure(error)
    }
  }

  func look(_ address: String) async throws(RequestProblem) -> TusPlan.Event {
    let response = try await send("HEAD", address)
    guard (200..<300).contains(response.status) else { return refusal(response) }
    guard let offset = Self.offset(response) else { throw .failure(Self.notTus) }
    return .found(offset: offset, length: response.headers["upload-length"].flatMap { Int64($0) })
  }

  func send(
    _ source: UploadSource, _ address: String, _ offset: Int64, _ bytes: Int64, checksum: Bool
  ) async throws(RequestProblem) -> TusPlan.Event {
    var headers = [("Content-Type", "application/offset+octet-stream"), ("Upload-Offset", String(offset))]
    var count = bytes
    if checksum || source.byteCount == nil {
      let part = try Self.look(into: source, offset, bytes)
      count = part.count
      if checksum, count > 0 { headers.append(("Upload-Checksum", "sha256 \(part.checksum)")) }
    }
    if source.byteCount == nil, count < bytes { headers.append(("Upload-Length", String(offset + count))) }
    // The transport reads only the given length.
    let body = HTTPUpload(byteCount: count) { position, buffer in try source.read(offset + position, buffer) }
    let response = try await send("PATCH", address, headers, body)
    guard response.status == 204 || response.status == 200 else { return refusal(response) }
    guard let found = Self.offset(response) else { throw .failure(Self.notTus) }
    return .sent(offset: found, bytes: count, seconds: response.duration / .seconds(1))
  }

  /// The actual length of a part, and its checksum.
  private static func look(
    into source: UploadSource, _ offset: Int64, _ bytes: Int64
  ) throws(RequestProblem) -> (count: Int64, checksum: String) {
    let digest = ContentDigest()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 64)
    defer { buffer.deallocate() }
    var count: Int64 = 0
    do {
      while count < bytes {
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(min(Int64(buffer.count), bytes - count))))
        let part = try source.read(offset + count, room)
        if part == 0 { break }
        digest.add(UnsafeRawBufferPointer(rebasing: room[..<part]))
        count += Int64(part)
      }
    } catch {
      throw .problem(.unreadable)
    }
    guard source.byteCount == nil || count == bytes else { throw .problem(.unreadable) }
    return (count, Data(digest.finishBytes()).base64EncodedString())
  }

  /// Sends one request and waits for its response.
  func send(
    _ method: String, _ path: String, _ headers: [(String, String)] = [], _ upload: HTTPUpload? = nil
  ) async throws(RequestProblem) -> HTTPResponse {
    var request = HTTPRequest(path)
    request.method = method
    request.headers = [("Tus-Resumable", "1.0.0")] + headers
    request.upload = upload
    do {
      return try await transport.send(request)
    } catch {
      throw error == .bodyFailed ? .problem(.unreadable) : .failure(error)
    }
  }

  /// Returns a refusal of the server. An HTML page comes from an intermediary, such as a captive portal. As a refusal
  /// it would restart an existing upload.
  private func refusal(_ response: HTTPResponse) -> TusPlan.Event {
    guard response.contentType != "text/html" else { return .failed(Self.notTus) }
    return .refused(
      status: response.status, retryAfterSeconds: response.retryAfterSeconds, type: ServerProblem(response)?.type)
  }

  private static let notTus = TransportFailure.notTheServer(detail: "it does not support tus")

  private static func offset(_ response: HTTPResponse) -> Int64? {
    response.headers["upload-offset"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }
}
