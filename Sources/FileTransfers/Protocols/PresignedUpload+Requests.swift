import Platform
import SealedFiles
import SyncModel
import HTTPClient

/// The requests, and the meaning of their responses.
extension PresignedUpload {
  // MARK: To the server

  func ask(_ facts: UploadDescription) async throws(UploadProblem) -> (PresignedPlan.Event, SyncValue?) {
    if let greatest = api.greatestBytes, facts.byteCount > greatest { throw .tooLarge }
    let words = PresignedVariables(facts, key: nil)
    let (event, json) = try await ask(api.ask, words)
    guard event == nil else { return (event ?? .exists, json) }
    guard var address = PresignedAddress(json, api, facts) else {
      return (.failed(.notTheServer(detail: "its response names no address for a file")), json)
    }
    do throws(TransportFailure) {
      address.url = try transport.address.resolved(address.url, from: words.path(api.ask.path))
    } catch {
      return (.failed(error), json)
    }
    return (.given(address), json)
  }

  func confirm(
    _ key: String, _ facts: UploadDescription?, _ source: UploadSource
  ) async throws(UploadProblem) -> (PresignedPlan.Event, SyncValue?) {
    guard let request = api.confirm else { throw .unexpected }
    // After a crash the file has not been looked at yet; only an API that wants to know about it pays for that.
    let needsFacts = facts == nil && PresignedVariables.areOfFile(in: request)
    let (event, json) = try await ask(
      request, PresignedVariables(needsFacts ? try await measure(source) : facts, key: key), absent: api.absentStatuses)
    return (event ?? .confirmed, json)
  }

  /// Sends a request to the server itself. Returns `nil` unless the server refused the request.
  private func ask(
    _ request: PresignedAPI.Request, _ words: PresignedVariables, absent: Set<Int> = []
  ) async throws(UploadProblem) -> (PresignedPlan.Event?, SyncValue?) {
    var outgoing = HTTPRequest(words.path(request.path), body: request.body.map { Array(words.filled($0).json.utf8) })
    outgoing.method = request.method
    // Without it there would be no word of how long the body is, and some want one.
    if request.body == nil, request.method != "GET" { outgoing.upload = HTTPUpload(byteCount: 0) { _, _ in 0 } }
    outgoing.headers = request.headers.map { ($0.name, words.text($0.value)) }
    let response: HTTPResponse
    do throws(TransportFailure) {
      response = try await transport.send(outgoing)
    } catch {
      return (.failed(error), nil)
    }
    // The response comes from an intermediary and says nothing about the file.
    if response.contentType == "text/html" { return (.failed(.htmlPage), nil) }
    let json = Self.json(response)
    let problem = ServerProblem(response)
    guard (200..<300).contains(response.status) else {
      if let type = problem?.type, api.existsTypes.contains(type) { return (.exists, json) }
      if api.existsStatuses.contains(response.status) { return (.exists, json) }
      if absent.contains(response.status) { return (.absent, json) }
      return (
        .refused(
          status: response.status, retryAfterSeconds: response.retryAfterSeconds, type: problem?.type,
          what: problem.map { $0.detail.isEmpty ? $0.title : $0.detail }), json
      )
    }
    if let place = api.errorAt, let error = json?.member(place), error != .null, error != .bool(false) {
      return (.refused(status: response.status, retryAfterSeconds: nil, what: error.plainText), json)
    }
    return (nil, json)
  }

  private static func json(_ response: HTTPResponse) -> SyncValue? {
    do throws(SyncModelError) {
      return try SyncValue(parsing: response.body)
    } catch {
      // A request that needs a missing part of it fails.
      return nil
    }
  }

  // MARK: To the store

  func put(
    _ source: UploadSource, _ facts: UploadDescription, _ address: PresignedAddress,
    _ progress: @escaping @Sendable (Int64) async -> Void
  ) async throws(UploadProblem) -> PresignedPlan.Event {
    let (steps, tell) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1))
    var request = HTTPRequest(address.url, isAuthorized: false)
    request.method = api.method
    request.headers = address.headers.map { ($0.key, $0.value) }
    request.upload = HTTPUpload(byteCount: facts.byteCount) { offset, buffer in
      let count = try source.read(offset, buffer)
      tell.yield(offset + Int64(count))
      return count
    }
    async let telling: Void = { for await count in steps { await progress(count) } }()
    let response: Result<HTTPResponse, TransportFailure>
    do throws(TransportFailure) {
      response = .success(try await transport.send(request))
    } catch {
      response = .failure(error)
    }
    tell.finish()
    await telling
    switch response {
    case .failure(.bodyFailed): throw .unreadable
    case .failure(let failure): return .failed(failure)
    case .success(let response):
      if response.contentType == "text/html" { return .failed(.htmlPage) }
      guard (200..<300).contains(response.status) else {
        return .storeRefused(
          status: response.status, retryAfterSeconds: response.retryAfterSeconds,
          code: ObjectStoreError.read(response.body))
      }
      return .stored
    }
  }

  /// Reads a complete file for its length and its digest.
  func measure(_ source: UploadSource) async throws(UploadProblem) -> UploadDescription {
    let facts = await offload { Self.facts(of: source) }
    guard let facts else { throw .unreadable }
    return facts
  }

  private static func facts(of source: UploadSource) -> UploadDescription? {
    let digest = ContentDigest()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 64)
    defer { buffer.deallocate() }
    var count: Int64 = 0
    while source.byteCount.map({ count < $0 }) ?? true {
      let part: Int
      do { part = try source.read(count, buffer) } catch { return nil }
      if part == 0 { break }
      digest.add(UnsafeRawBufferPointer(rebasing: buffer[..<part]))
      count += Int64(part)
    }
    guard source.byteCount.map({ $0 == count }) ?? true else { return nil }
    return UploadDescription(byteCount: count, sha256: digest.finishBytes(), contentType: source.contentType)
  }
}

/// Returns the error code of an S3 response: `<Error><Code>AccessDenied</Code>...`.
enum ObjectStoreError {
  static func read(_ body: [UInt8]) -> String? {
    let text = String(decoding: body.prefix(4_096), as: UTF8.self)
    guard let begin = text.range(of: "<Code>"), let end = text.range(of: "</Code>"), begin.upperBound < end.lowerBound
    else { return nil }
    let code = text[begin.upperBound..<end.lowerBound]
    // Only a short word, because users see it.
    guard code.utf8.count <= 64, code.utf8.allSatisfy({ (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) })
    else { return nil }
    return String(code)
  }
}
