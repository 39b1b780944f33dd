import CipherSQL
import HTTPClient

/// Downloads a file into a partial file and resumes an earlier attempt.
struct FileDownload: Sendable {
  private let transport: HTTPTransport

  /// A download from the server of the transport.
  init(transport: HTTPTransport) { self.transport = transport }

  /// Downloads a file until it is complete, verified and on the disk. The caller renames it.
  /// - Parameters:
  ///   - source: requests the file. Ranges and tags are added.
  ///   - place: the partial file. Its content is resumed.
  ///   - tag: the tag of the partial file, if it is known. Without it, the verification at the end finds a mismatch.
  ///   - verify: whether the file is the expected one.
  ///   - progress: called with the received bytes, and with the length of the file if it is known.
  /// - Returns: the size of the file.
  @discardableResult
  func fetch(
    _ source: HTTPRequest, into place: any DownloadTarget, tag: String? = nil,
    verify: @Sendable () async -> Bool = { true },
    progress: @escaping @Sendable (Int64, Int64?) -> Void = { _, _ in }
  ) async throws(DownloadProblem) -> Int64 {
    let plan = Locked(DownloadPlan(bytes: place.byteCount, tag: tag))
    var step = plan.withLock { $0.first }
    while true {
      let event: DownloadPlan.Event
      switch step {
      case .fetch(let offset, let tag): event = await fetch(source, place, plan, offset, tag, progress)
      case .empty:
        try place.empty()
        event = .emptied
      case .verify:
        try place.complete()
        event = .verified(await verify())
      case .done: return place.byteCount
      case .stop(let problem):
        if problem == .damaged { try place.empty() } else { try place.keep() }
        throw problem
      }
      step = plan.withLock { $0.next(after: event) }
    }
  }

  private func fetch(
    _ source: HTTPRequest, _ place: any DownloadTarget, _ plan: Locked<DownloadPlan>, _ offset: Int64, _ tag: String?,
    _ progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async -> DownloadPlan.Event {
    var request = source
    request.headers.append(("Accept-Encoding", "identity"))
    if offset > 0 {
      request.headers.append(("Range", "bytes=\(offset)-"))
      if let tag { request.headers.append(("If-Range", tag)) }
    }
    let length = Locked<Int64?>(nil)
    let isTaken = Locked(false)
    request.download = HTTPDownload { head in
      guard let part = plan.withLock({ $0.accept(status: head.status, headers: head.headers) }) else { return nil }
      length.withLock { $0 = part.length }
      isTaken.withLock { $0 = true }
      let isAnew = Locked(part.offset == 0 && offset > 0)
      return { bytes in
        // Only with the first bytes, because a response may be cut before them, and the existing bytes are worth
        // more.
        if isAnew.withLock({ isAnew in
          defer { isAnew = false }
          return isAnew
        }) {
          try place.empty()
        }
        try place.append(bytes)
        progress(place.byteCount, part.length)
      }
    }
    do {
      let response = try await transport.send(request)
      guard isTaken.withLock({ $0 }) else {
        if let failure = Self.stranger(response) { return .failed(failure, bytes: place.byteCount) }
        return .refused(
          status: response.status, retryAfterSeconds: response.retryAfterSeconds,
          length: ContentRange(response.headers["content-range"])?.length)
      }
      // The whole file has no bytes.
      if response.bytesReceived == 0, response.status == 200, place.byteCount > 0 { try place.empty() }
      let count = place.byteCount
      return .fetched(bytes: count, isWhole: length.withLock { $0 }.map { $0 == count } ?? true)
    } catch let error as TransportFailure {
      return .failed(error, bytes: place.byteCount)
    } catch {
      return .failed(.bodyFailed, bytes: place.byteCount)
    }
  }

  /// Returns a failure for an HTML page, which does not concern the file.
  static func stranger(_ response: HTTPResponse) -> TransportFailure? {
    response.contentType == "text/html" ? .htmlPage : nil
  }
}

/// A file that grows while it comes. One request at a time writes it.
protocol DownloadTarget: Sendable {
  /// The number of received bytes.
  var byteCount: Int64 { get }
  /// Appends bytes.
  func append(_ bytes: UnsafeRawBufferPointer) throws
  /// Discards the received bytes.
  func empty() throws(DownloadProblem)
  /// Flushes the complete file to the disk.
  func complete() throws(DownloadProblem)
  /// Flushes the partial file, so that the download can resume after a crash.
  func keep() throws(DownloadProblem)
}
