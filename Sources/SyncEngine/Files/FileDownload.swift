import CipherSQL
import VaultKeys

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Fetches a file into a place beside the one where it will stand, going on where an earlier attempt has stopped.
public struct FileDownload: Sendable {
  private let transport: HTTPTransport

  /// A download from the server of the transport.
  public init(transport: HTTPTransport) { self.transport = transport }

  /// Fetches a file until it is whole, on the disk, and what it should be. The caller gives it its name.
  /// - Parameters:
  ///   - path: such as `/v1/files/UUID/full`.
  ///   - part: the file that is written; what is there is gone on with.
  ///   - tag: the tag of what is there, where it is known. Without one the comparison at the end finds what does not fit.
  ///   - verify: whether the file is what it should be.
  ///   - progress: is told how many bytes are here, and of how many, where that is known.
  /// - Returns: the size of the file.
  public func fetch(
    _ path: String, into part: String, tag: String? = nil, verify: @Sendable (_ path: String) async -> Bool,
    progress: @escaping @Sendable (Int64, Int64?) -> Void = { _, _ in }
  ) async throws(DownloadProblem) -> Int64 {
    let file = try PartFile(part)
    let plan = Locked(DownloadPlan(bytes: file.byteCount, tag: tag))
    var step = plan.withLock { $0.first }
    while true {
      let event: DownloadPlan.Event
      switch step {
      case .fetch(let offset, let tag): event = await fetch(path, file, plan, offset, tag, progress)
      case .empty:
        try file.cut(to: 0)
        event = .emptied
      case .verify:
        try file.synchronize()
        event = .verified(await verify(part))
      case .done: return file.byteCount
      case .stop(let problem):
        // So that what has come is still there after a crash.
        if problem == .damaged { try file.cut(to: 0) } else { try file.synchronize() }
        throw problem
      }
      step = plan.withLock { $0.next(after: event) }
    }
  }

  private func fetch(
    _ path: String, _ file: PartFile, _ plan: Locked<DownloadPlan>, _ offset: Int64, _ tag: String?,
    _ progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async -> DownloadPlan.Event {
    var request = HTTPRequest(path)
    request.headers = [("Accept-Encoding", "identity")]
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
      return { bytes in
        try file.write(bytes, from: part.offset)
        progress(file.byteCount, part.length)
      }
    }
    do {
      let answer = try await transport.send(request)
      guard isTaken.withLock({ $0 }) else {
        return .refused(
          status: answer.status, retryAfterSeconds: answer.retryAfterSeconds,
          length: ContentRange(answer.headers["content-range"])?.length)
      }
      // An answer without a byte has not begun anew yet.
      if answer.bytesReceived == 0, answer.status == 200 { try file.cut(to: 0) }
      return .fetched(bytes: file.byteCount, isWhole: length.withLock { $0 }.map { $0 == file.byteCount } ?? true)
    } catch let error as TransportFailure {
      return .failed(error, bytes: file.byteCount)
    } catch {
      return .failed(.bodyFailed, bytes: file.byteCount)
    }
  }
}

/// A file that grows while it comes. One request at a time writes it.
private final class PartFile: Sendable {
  private struct State {
    var count: Int64
    /// Where the request that is under way has begun; nil before its first byte.
    var begin: Int64?
  }

  private let descriptor: Descriptor
  private let state: Locked<State>

  var byteCount: Int64 { state.withLock { $0.count } }

  init(_ path: String) throws(DownloadProblem) {
    do {
      descriptor = try Descriptor(opening: path, O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
      state = Locked(State(count: Int64(try descriptor.size())))
    } catch {
      throw .notWritten
    }
  }

  /// Writes behind what is there. The first bytes of an answer that begins before that cut off what was there.
  func write(_ bytes: UnsafeRawBufferPointer, from offset: Int64) throws {
    if byteCount > 0, offset == 0, state.withLock({ $0.begin == nil }) { try cut(to: 0) }
    let end = state.withLock { state in
      state.begin = offset
      return state.count
    }
    try descriptor.write(bytes, at: Int(end))
    state.withLock { $0.count = end + Int64(bytes.count) }
  }

  func cut(to size: Int64) throws(DownloadProblem) {
    do {
      try descriptor.setSize(Int(size))
      state.withLock { $0 = State(count: size) }
    } catch {
      throw .notWritten
    }
  }

  func synchronize() throws(DownloadProblem) {
    state.withLock { $0.begin = nil }
    do {
      try descriptor.synchronize()
    } catch {
      throw .notWritten
    }
  }
}
