import CipherSQL
import HTTPServer
import Platform
import SealedFiles
import ServerStorage

/// Writes the body of one request to an upload.
///
/// The HTTP library's threads put parts into a small buffer. A separate queue writes them, so that no thread that
/// serves other clients waits for the disk. While the buffer is written, the server reads nothing from the client.
final class UploadSession: BodySink {
  /// The facts that a session needs in addition to its bytes.
  struct Terms: Sendable {
    let checksum: UploadChecksum?
    /// The greatest size of the body, in bytes.
    let allowance: Int64
    /// Whether the received bytes are stored when the connection is cut.
    let isKeptWhenCut: Bool
    let quota: Int64
    /// The claims of the content's records.
    let claims: [ContentClaim]
    /// Returns the current time and the new expiry of an upload that has received bytes, in milliseconds since
    /// 1970-01-01 UTC.
    let clock: @Sendable () -> (now: Int64, expiry: Int64)
    /// Called once at the end; `nil` if no client waits for the response.
    let conclude: @Sendable (Result<StoredUpload, any Error>?) async -> Response
  }

  /// The number of bytes that are gathered before they are written.
  private static let capacity = 256 << 10
  /// The most bytes that the HTTP library reads at once.
  private static let greatestPart = 64 << 10
  /// The number of bytes after which the offset is committed within a body. A crash loses at most this many.
  private static let commitInterval: Int64 = 16 << 20
  /// The bytes that are counted towards the quota at once for a body without a length.
  private static let reservationStep: Int64 = 1 << 20

  private struct UploadBuffer {
    var buffer: [UInt8] = []
    var accepted: Int64 = 0
    var isMakingRoom = false
    var isOver = false
    var refusal: (any Error)?
  }

  /// Used by the queue only.
  private struct Progress {
    /// Used within `withLock` only, like all properties here.
    nonisolated(unsafe) var hasher: ContentDigest?
    var written: Int64 = 0
    var uncommitted: Int64 = 0
    var isClosed = false
  }

  private let writer: any UploadWriting
  private let terms: Terms
  private let problem: @Sendable (any Error) -> HTTPProblem
  private let intake = Locked(UploadBuffer())
  private let progress: Locked<Progress>
  private let queue = WorkQueue("upload")

  /// - Parameter problem: converts an error into a response for the client.
  init(_ writer: any UploadWriting, _ terms: Terms, problem: @escaping @Sendable (any Error) -> HTTPProblem) {
    self.writer = writer
    self.terms = terms
    self.problem = problem
    progress = Locked(Progress(hasher: terms.checksum?.hasher()))
  }

  // MARK: The body

  func take(_ part: UnsafeBufferPointer<UInt8>) -> BodyWriteResult {
    let taking = intake.withLock { intake -> (BodyWriteResult?, (any Error)?) in
      if intake.isOver { return (.over, nil) }
      if let refusal = intake.refusal { return (nil, refusal) }
      guard intake.accepted + Int64(part.count) <= terms.allowance else {
        let refusal = HTTPProblem.beyondLength
        intake.refusal = refusal
        return (nil, refusal)
      }
      if intake.buffer.capacity == 0 { intake.buffer.reserveCapacity(Self.capacity + Self.greatestPart) }
      intake.buffer.append(contentsOf: part)
      intake.accepted += Int64(part.count)
      guard intake.buffer.count >= Self.capacity, !intake.isMakingRoom else { return (.taken, nil) }
      intake.isMakingRoom = true
      return (.full, nil)
    }
    if let taking = taking.0 { return taking }
    return .refused(problem(taking.1 ?? HTTPProblem.failure).response)
  }

  func whenReady(_ ready: @escaping @Sendable () -> Void) {
    queue.add {
      self.drain()
      self.intake.withLock { $0.isMakingRoom = false }
      ready()
    }
  }

  func finish() async -> Response {
    let result = await queue.perform { self.close(isComplete: true) }
    return await terms.conclude(result)
  }

  func cut() {
    startTask { [self] in
      _ = await queue.perform { self.close(isComplete: false) }
      _ = await terms.conclude(nil)
    }
  }

  /// Ends the session in favour of another request. Stores the received bytes, and closes the connection at its next
  /// part.
  func end() async {
    intake.withLock { $0.isOver = true }
    _ = await queue.perform { self.close(isComplete: false) }
  }

  // MARK: On the queue

  /// Writes received bytes.
  private func drain() {
    var part = intake.withLock { intake -> [UInt8] in
      defer { intake.buffer = [] }
      return intake.buffer
    }
    guard !part.isEmpty else { return }
    do {
      try progress.withLock { progress in
        guard !progress.isClosed else { return }
        try reserve(progress.written + Int64(part.count))
        progress.written += Int64(part.count)
        try part.withUnsafeBytes { bytes in
          try writer.append(bytes)
          progress.hasher?.add(bytes)
        }
        progress.uncommitted += Int64(part.count)
        if terms.isKeptWhenCut, progress.uncommitted >= Self.commitInterval {
          try commit()
          progress.uncommitted = 0
        }
      }
    } catch {
      intake.withLock { intake in
        if intake.refusal == nil { intake.refusal = error }
      }
    }
    part.removeAll(keepingCapacity: true)
    intake.withLock { intake in
      // The buffer is a ring.
      if intake.buffer.isEmpty { swap(&intake.buffer, &part) }
    }
  }

  /// Reserves bytes before they are written. The files of a user never exceed the quota, even while bodies are
  /// received: many concurrent bodies would fill the disk.
  private func reserve(_ bytes: Int64) throws {
    let steps = (bytes + Self.reservationStep - 1) / Self.reservationStep * Self.reservationStep
    do {
      try writer.reserve(steps, quota: terms.quota)
    } catch FileRefusal.overQuota where bytes < steps {
      // Near the quota it is counted exactly.
      try writer.reserve(bytes, quota: terms.quota)
    }
  }

  private func commit() throws {
    let (now, expiry) = terms.clock()
    try writer.commit(at: now, expiry: expiry, quota: terms.quota, claims: terms.claims)
  }

  private func close(isComplete: Bool) -> Result<StoredUpload, any Error> {
    drain()
    let refusal = intake.withLock { intake in
      intake.isOver = true
      return intake.refusal
    }
    return progress.withLock { progress in
      guard !progress.isClosed else { return .failure(HTTPProblem.interrupted) }
      progress.isClosed = true
      defer { writer.close() }
      return Result {
        if let refusal { throw refusal }
        if let checksum = terms.checksum, let hasher = progress.hasher, isComplete, !checksum.matches(hasher) {
          throw HTTPProblem.checksumMismatch
        }
        if isComplete || terms.isKeptWhenCut { try commit() }
        return writer.upload
      }
    }
  }
}

extension HTTPProblem {
  static let beyondLength = HTTPProblem(
    413, "The body is too large", "the upload would exceed its length or the file size limit",
    field: "Upload-Length")
  static let interrupted = HTTPProblem(
    409, "Another request has taken over the upload", "send HEAD to get the offset")
}
