import HTTPServer
import Platform
import ServerStorage

extension FileService {
  /// `POST /v1/files`: creates an upload, with its first bytes if the request has a body.
  func create(_ call: RouteCall<Member>) async throws -> any BodySink {
    let headers = UploadHeaders(request: call.request)
    let metadata = try UploadMetadata(call.request, random: environment.random)
    let length = try headers.lengthOfNew(limit: limits.fileBytes)
    let hasContent = try headers.hasContent()
    let checksum = try UploadChecksum(call.request)
    try check(headers, room: length ?? limits.fileBytes)
    let account = call.caller.account
    try await refuseHidden(metadata.name.content, call.caller)
    let upload = try await refusing {
      // A content that another member sent before its record came is compared now.
      var claims: [ContentClaim] = []
      if try await storage.content(account, metadata.name) != nil {
        claims = try await self.claims(account, metadata.name.content)
        try await storage.prove(account, metadata.name, claims)
      }
      let new = NewUpload(
        userId: call.caller.userId, name: metadata.name, length: length, metadata: metadata.text, expiry: expiry,
        isProvable: claims.contains { $0.canProve(metadata.name.variant) })
      return try await storage.begin(account, new, quota: limits.quotaBytes, at: now)
    }
    guard hasContent || length == 0 else { return ReadinessResponse(response: created(upload)) }
    do {
      return try await open(upload, call, checksum, isNew: true) { result in
        guard case .success(let upload)? = result else {
          await forget(upload, account)
          return nil
        }
        return created(upload)
      }
    } catch {
      await forget(upload, account)
      throw error
    }
  }

  /// Removes an upload whose first request failed: no client knows its address, and it would count towards the quota
  /// until it expires.
  private func forget(_ upload: StoredUpload, _ account: AccountName) async {
    // In a task of its own, because that of a request is cancelled when the server stops.
    let removal = startTask { try await storage.removeUpload(account, upload.id) }
    do {
      try await removal.value
    } catch {
      log.failure("an upload whose first request failed could not be removed: \(error)")
    }
  }

  /// `PATCH /v1/files/uploads/{upload}`: appends bytes to an upload.
  func append(_ call: RouteCall<Member>) async throws -> any BodySink {
    let headers = UploadHeaders(request: call.request)
    guard call.request.headers["content-type"] == Tus.contentType else { throw HTTPProblem.notUploadContent }
    let offset = try headers.offset()
    let length = try headers.length(limit: limits.fileBytes)
    let checksum = try UploadChecksum(call.request)
    let upload = try await find(call)
    return try await open(upload, call, checksum, offset: offset, length: length, isNew: false) { result in
      guard case .success(let upload)? = result else { return nil }
      return .empty(204, Self.progress(upload))
    }
  }

  /// `HEAD /v1/files/uploads/{upload}`: returns the offset. A request that still sends bytes to it is ended, because
  /// the asking client has abandoned that request.
  func state(_ call: RouteCall<Member>) async throws -> Response {
    let known = try await find(call)
    await sessions.end(known.id)
    let upload = try await find(call)
    var headers = Self.progress(upload)
    headers.append(upload.length.map { ("Upload-Length", String($0)) } ?? ("Upload-Defer-Length", "1"))
    if !upload.metadata.isEmpty { headers.append(("Upload-Metadata", upload.metadata)) }
    headers.append(Self.contentHeader(upload))
    return .empty(200, headers)
  }

  /// `DELETE /v1/files/uploads/{upload}`: cancels an upload. The content of a finished upload is removed too, unless
  /// a record references it.
  func terminate(_ call: RouteCall<Member>) async throws -> Response {
    let upload = try await find(call)
    let account = call.caller.account
    await sessions.end(upload.id)
    try await refusing {
      let latest = try await storage.upload(account, upload.id) ?? upload
      try await storage.removeUpload(account, upload.id)
      if latest.isFinished, try await inUse(account, [upload.name.content]).isEmpty {
        try await storage.removeContent(account, upload.name)
      }
    }
    return .empty(204)
  }

  // MARK: Parts

  /// Returns the upload of a request, if it belongs to the user. The existence of other users' uploads is not
  /// disclosed.
  private func find(_ call: RouteCall<Member>) async throws -> StoredUpload {
    let id = call.variables["upload"] ?? ""
    guard id.utf8.count == 32, let upload = try await storage.upload(call.caller.account, id),
      upload.userId == call.caller.userId
    else { throw HTTPProblem.noSuchUpload }
    guard upload.expiry > now else { throw HTTPProblem.uploadExpired }
    return upload
  }

  /// Refuses a body that is too large according to its headers.
  private func check(_ headers: UploadHeaders, room: Int64) throws(HTTPProblem) {
    if let length = headers.bodyLength, length > room { throw .beyondLength }
  }

  private func open(
    _ known: StoredUpload, _ call: RouteCall<Member>, _ checksum: UploadChecksum?, offset: Int64 = 0,
    length: Int64? = nil,
    isNew: Bool, conclude: @escaping @Sendable (Result<StoredUpload, any Error>?) async -> Response?
  ) async throws -> any BodySink {
    let claim = try sessions.claim(known.id, for: call.caller.userId)
    do {
      let headers = UploadHeaders(request: call.request)
      let upload = try await current(known, call, offset: offset, length: length)
      let room = (upload.length ?? limits.fileBytes) - upload.offset
      try check(headers, room: room)
      let account = call.caller.account
      let claims = try await claims(account, upload.name.content)
      let writer = try await openWriter(upload, headers, account)
      let terms = UploadSession.Terms(
        checksum: checksum, allowance: room, isKeptWhenCut: !isNew && checksum == nil, quota: limits.quotaBytes,
        claims: claims, clock: { (now, expiry) }
      ) { result in
        defer { sessions.release(claim) }
        // Its bytes are wrong from the beginning, so nothing can go on from them.
        if case .failure(FileRefusal.mismatch)? = result { await forget(upload, account) }
        if let response = await conclude(result) { return response }
        guard case .failure(let error)? = result else { return HTTPProblem.failure.response }
        return told(error, upload).response
      }
      let session = UploadSession(writer, terms) { error in told(error, upload) }
      claim.attach(session)
      return session
    } catch {
      sessions.release(claim)
      throw error
    }
  }

  /// Returns the upload after it was locked, at the offset and with the length that the client names.
  private func current(
    _ known: StoredUpload, _ call: RouteCall<Member>, offset: Int64, length: Int64?
  ) async throws -> StoredUpload {
    let account = call.caller.account
    guard let upload = try await storage.upload(account, known.id) else { throw HTTPProblem.noSuchUpload }
    guard upload.offset == offset else { throw HTTPProblem.offsetMismatch(upload.offset) }
    guard let length, length != upload.length else { return upload }
    guard upload.length == nil, length >= offset else {
      throw HTTPProblem.badRequest(
        "Upload-Length may be set once and must not be below the offset", field: "Upload-Length")
    }
    return try await refusing {
      try await storage.setLength(account, known.id, to: length, quota: limits.quotaBytes)
    }
  }

  private func openWriter(
    _ upload: StoredUpload, _ headers: UploadHeaders, _ account: AccountName
  ) async throws -> any UploadWriting {
    do {
      return try await storage.openWriter(
        account, upload.id, reserving: headers.bodyLength ?? 0, quota: limits.quotaBytes)
    } catch FileRefusal.damaged {
      try await storage.removeUpload(account, upload.id)
      throw HTTPProblem.uploadExpired
    } catch {
      throw Self.problem(error) ?? error
    }
  }

  /// Converts the refusal of a storage into a response.
  func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch {
      throw Self.problem(error) ?? error
    }
  }

  private func told(_ error: any Error, _ upload: StoredUpload) -> HTTPProblem {
    if let problem = Self.problem(error) { return problem }
    log.failure("an upload could not be stored: \(error)")
    return HTTPProblem(ofMachine: error) ?? .failure
  }

  // MARK: Responses

  private func created(_ upload: StoredUpload) -> Response {
    let location = ("Location", "\(publicURL)/v1/files/uploads/\(upload.id)")
    return .empty(201, [location, Self.contentHeader(upload)] + Self.progress(upload))
  }

  private static func progress(_ upload: StoredUpload) -> [(name: String, value: String)] {
    let offset = ("Upload-Offset", String(upload.offset))
    return upload.isFinished ? [offset] : [offset, ("Upload-Expires", HTTPDate.text(upload.expiry))]
  }

  /// Returns the header with the path of the content of a finished upload.
  private static func contentHeader(_ upload: StoredUpload) -> (name: String, value: String) {
    ("Fieldvault-Content", "/v1/files/\(upload.name.content)/\(upload.name.variant.rawValue)")
  }
}

/// The response to a request without a body whose response is known.
private struct ReadinessResponse: BodySink {
  let response: Response

  func take(_ part: UnsafeBufferPointer<UInt8>) -> BodyWriteResult { .over }
  func whenReady(_ ready: @escaping @Sendable () -> Void) { ready() }
  func finish() async -> Response { response }
  func cut() {}
}
