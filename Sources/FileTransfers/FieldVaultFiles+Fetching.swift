import CipherSQL
import SealedFiles
import HTTPClient

/// Fetching.
extension FieldVaultFiles {
  /// Downloads by `GET` with a range, from the server or an address that it sends. The vault verifies the file, because
  /// it has the key.
  public func fetch(
    _ name: FileName, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem) {
    let found: SealedFileBeginning
    do throws(SealedFileError) {
      found = try SealedFileBeginning(ofFileAt: part)
      // An earlier attempt was complete but not acknowledged. The server does not tell which of the two files it
      // keeps.
      if found == .finished, try SealedFileBeginning.isWhole(part) { return }
    } catch {
      throw .notWritten
    }
    // Opened once its kind is known. An address that expires during the download does not change the file.
    var place: (any DownloadTarget)?
    try await withSource(of: name) { source async throws(DownloadProblem) in
      let open: any DownloadTarget
      if let place {
        open = place
      } else {
        let isSealed =
          switch found {
          case .unfinished: false
          // The header of an earlier attempt says nothing about a file that another device has sent since.
          case .nothing, .notSealed, .finished: try await self.isSealed(source)
          }
        open =
          isSealed ? try PartFile(part, beginsWith: SealedFileBeginning.mark) : try EncryptedDownload(part, sealing)
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
      if case .refused = error { forgetWay() }
      throw error
    }
  }

  private func wayToFetch() async throws(DownloadProblem) -> UploadProtocol {
    do throws(TransportFailure) { return try await way() } catch { throw .transport(error) }
  }

  /// Returns whether the server stores a file encrypted, judged by its first bytes.
  private func isSealed(_ source: HTTPRequest) async throws(DownloadProblem) -> Bool {
    var request = source
    request.headers += [("Accept-Encoding", "identity"), ("Range", "bytes=0-\(SealedFileBeginning.byteCount - 1)")]
    let first = Locked<[UInt8]>([])
    request.download = HTTPDownload { head in
      guard head.status == 200 || head.status == 206 else { return nil }
      // A server without ranges sends all of it.
      return { bytes in first.withLock { $0 += bytes.prefix(max(0, SealedFileBeginning.byteCount - $0.count)) } }
    }
    let response: HTTPResponse
    do throws(TransportFailure) {
      response = try await transport.send(request)
    } catch {
      throw .transport(error)
    }
    if let failure = FileDownload.stranger(response) { throw .transport(failure) }
    // No range exists in an empty file, and no encrypted file is empty.
    if [200, 206, 416].contains(response.status) { return SealedFileBeginning(first.withLock { $0 }) == .finished }
    var plan = DownloadPlan(bytes: 0, tag: nil)
    let refusal = DownloadPlan.Event.refused(
      status: response.status, retryAfterSeconds: response.retryAfterSeconds, length: nil)
    guard case .stop(let problem) = plan.next(after: refusal) else { throw .refused(status: response.status) }
    throw problem
  }
}
