import CipherSQL
import SealedFiles
import VaultKeys

/// How a file is encrypted that comes as it is.
public struct ContentSealing: Sendable {
  let key: SealingKey
  let identity: SealedFileIdentity

  package init(key: SealingKey, identity: SealedFileIdentity) { (self.key, self.identity) = (key, identity) }
}

/// Fetches what a server keeps unencrypted, and encrypts it as it comes: nothing readable is on the disk at any time.
struct SealingDownload {
  let transport: HTTPTransport

  /// Fetches a file until it is whole, encrypted and on the disk.
  /// - Parameter part: what an earlier attempt has left there, encrypted, is gone on with.
  func fetch(
    _ path: String, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem) {
    let content = try ArrivingContent(part, sealing)
    let plan = Locked(DownloadPlan(bytes: content.byteCount, tag: nil))
    var step = plan.withLock { $0.first }
    while true {
      let event: DownloadPlan.Event
      switch step {
      case .fetch(let offset, _): event = await fetch(path, content, plan, offset, progress)
      case .empty:
        try content.beginAnew()
        event = .emptied
      case .verify:
        try content.finish()
        event = .verified(true)
      case .done: return
      case .stop(let problem): throw problem
      }
      step = plan.withLock { $0.next(after: event) }
    }
  }

  private func fetch(
    _ path: String, _ content: ArrivingContent, _ plan: Locked<DownloadPlan>, _ offset: Int64,
    _ progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async -> DownloadPlan.Event {
    var request = HTTPRequest(path)
    request.headers = [("Accept-Encoding", "identity")]
    if offset > 0 { request.headers.append(("Range", "bytes=\(offset)-")) }
    let length = Locked<Int64?>(nil)
    let isTaken = Locked(false)
    request.download = HTTPDownload { head in
      guard let part = plan.withLock({ $0.accept(status: head.status, headers: head.headers) }) else { return nil }
      length.withLock { $0 = part.length }
      isTaken.withLock { $0 = true }
      let isAnew = part.offset == 0 && offset > 0
      let hasBegun = Locked(false)
      return { bytes in
        let isFirst = hasBegun.withLock { begun in
          defer { begun = true }
          return !begun
        }
        if isFirst, isAnew { try content.beginAnew() }
        try content.append(bytes)
        progress(content.byteCount, part.length)
      }
    }
    do {
      let answer = try await transport.send(request)
      guard isTaken.withLock({ $0 }) else {
        return .refused(
          status: answer.status, retryAfterSeconds: answer.retryAfterSeconds,
          length: ContentRange(answer.headers["content-range"])?.length)
      }
      let count = content.byteCount
      return .fetched(bytes: count, isWhole: length.withLock { $0 }.map { $0 == count } ?? true)
    } catch let error as TransportFailure {
      return .failed(error, bytes: content.byteCount)
    } catch {
      return .failed(.bodyFailed, bytes: content.byteCount)
    }
  }
}

/// A file that is encrypted while it comes. `@unchecked Sendable` holds because the writer is used under the lock alone.
private final class ArrivingContent: @unchecked Sendable {
  private var writer: SealedFileWriter
  private let path: String
  private let sealing: ContentSealing
  private let lock = Locked(())

  var byteCount: Int64 { lock.withLock { _ in Int64(writer.plainBytes) } }

  init(_ path: String, _ sealing: ContentSealing) throws(DownloadProblem) {
    (self.path, self.sealing) = (path, sealing)
    do {
      writer =
        try SealedFileBeginning(ofFileAt: path) == .unfinished
        ? SealedFileWriter.resume(path, key: sealing.key, identity: sealing.identity)
        : Self.create(path, sealing)
    } catch {
      throw .notWritten
    }
  }

  private static func create(_ path: String, _ sealing: ContentSealing) throws -> SealedFileWriter {
    try Descriptor.remove(path)
    return try SealedFileWriter(creating: path, key: sealing.key, identity: sealing.identity)
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws { try lock.withLock { _ in try writer.append(bytes) } }

  func beginAnew() throws(DownloadProblem) {
    do {
      try lock.withLock { _ in
        writer.abandon()
        writer = try Self.create(path, sealing)
      }
    } catch {
      throw .notWritten
    }
  }

  func finish() throws(DownloadProblem) {
    do {
      _ = try lock.withLock { _ in try writer.finish() }
    } catch {
      throw .notWritten
    }
  }
}
