import HTTPClient

/// The steps of one upload by tus 1.0, as a pure function of events, without a clock, a network or a disk.
public struct TusPlan: Equatable, Sendable {
  /// The next step.
  public enum Step: Equatable, Sendable {
    /// `OPTIONS`: requests the server's capabilities.
    case ask
    /// `POST`: creates an upload.
    case create
    /// Stores the address of the upload durably, before any byte is sent to it. `nil` removes the address of a missing
    /// upload.
    case remember(address: String?)
    /// `HEAD`: requests the number of bytes that the server has.
    case look(address: String)
    /// Sends this number of bytes from an offset by `PATCH`, or fewer at the end of the file.
    case send(address: String, offset: Int64, bytes: Int64)
    /// The server has the complete file. `address` is `nil` if the server had it before.
    case done(address: String?)
    /// Ends for now.
    case stop(UploadProblem)
  }

  /// An event of the upload.
  public enum Event: Equatable, Sendable {
    /// The server returned its capabilities.
    case asked(TusServer)
    /// The upload was created.
    case created(address: String)
    /// The server has this content already, under any address.
    case exists
    /// The address was stored.
    case remembered
    /// The server has this number of bytes, of a file whose length it may not know yet.
    case found(offset: Int64, length: Int64?)
    /// The server stored the bytes of the last request.
    case sent(offset: Int64, bytes: Int64, seconds: Double)
    /// The server returned another status; `type` is the type of the problem (RFC 9457), if the response has one.
    case refused(status: Int, retryAfterSeconds: Int?, type: String? = nil)
    /// The request failed.
    case failed(TransportFailure)
  }

  /// The number of times in a row that an upload is created, or a part is sent, without a byte of progress.
  static let mostRepetitions = 3

  /// The size of the parts; useful for the next file on the same link.
  public private(set) var chunk: ChunkSize
  /// The capabilities of the server; `nil` before the first request.
  public private(set) var server: TusServer?
  /// The number of bytes that the server has, as far as it is known.
  public private(set) var offset: Int64 = 0

  private let byteCount: Int64?
  private var address: String?
  private var step: Step
  private var repetitions = 0
  /// The highest offset that any upload of the file has reached. Only bytes beyond it count as progress.
  private var furthest: Int64 = 0

  /// Creates the plan of an upload.
  /// - Parameters:
  ///   - byteCount: the length of the file; `nil` if it is known only at the end.
  ///   - address: the address of an upload that was begun, or `nil`.
  ///   - server: the capabilities of the server; `nil` to request them.
  public init(byteCount: Int64?, address: String?, server: TusServer? = nil, chunk: ChunkSize = ChunkSize()) {
    (self.byteCount, self.address, self.server, self.chunk) = (byteCount, address, server, chunk)
    step = .ask
    if server != nil { step = afterAsking() }
  }

  /// The first step.
  public var first: Step { step }

  /// Returns the step after an event.
  public mutating func next(after event: Event) -> Step {
    step = following(event)
    return step
  }

  private mutating func following(_ event: Event) -> Step {
    switch event {
    case .asked(let server):
      self.server = server
      return afterAsking()
    case .created(let address):
      (self.address, offset) = (address, 0)
      return .remember(address: address)
    case .exists: return .done(address: nil)
    case .remembered: return afterRemembering()
    case .found(let offset, let length): return afterLooking(offset, length)
    case .sent(let offset, let bytes, let seconds): return afterSending(offset, bytes, seconds)
    case .refused(409, _, Self.contentExists): return .done(address: nil)
    case .refused(let status, let retryAfter, let type): return afterRefusal(status, retryAfter, type)
    case .failed(let failure): return afterFailure(failure)
    }
  }

  private func afterAsking() -> Step {
    if let greatest = server?.greatestBytes, let byteCount, byteCount > greatest { return .stop(.tooLarge) }
    return address.map { .look(address: $0) } ?? .create
  }

  private func afterRemembering() -> Step {
    guard let address else { return .create }
    return sending(address)
  }

  private mutating func afterLooking(_ found: Int64, _ length: Int64?) -> Step {
    guard let address else { return .create }
    // An upload that is longer than the file, or whose length differs, belongs to another file.
    if let byteCount, found > byteCount || length.map({ $0 != byteCount }) ?? false { return beginAnew() }
    reached(found)
    return sending(address)
  }

  private mutating func reached(_ found: Int64) {
    offset = found
    guard found > furthest else { return }
    (furthest, repetitions) = (found, 0)
  }

  private func sending(_ address: String) -> Step {
    // An empty file is complete as soon as its upload exists.
    if let byteCount, offset >= byteCount { return .done(address: address) }
    return .send(address: address, offset: offset, bytes: min(chunk.bytes, byteCount.map { $0 - offset } ?? .max))
  }

  private mutating func afterSending(_ found: Int64, _ bytes: Int64, _ seconds: Double) -> Step {
    guard let address, case .send(_, let begin, let wanted) = step else { return .stop(.unexpected) }
    guard found >= begin, found <= begin + bytes else { return lookAgain() }
    chunk.succeeded(bytes: found - begin, seconds: seconds)
    guard found > offset || bytes == 0 else { return lookAgain() }
    reached(found)
    // A file of unknown length is over with the first request that is shorter than it might have been.
    if byteCount == nil, found == begin + bytes, bytes < wanted { return .done(address: address) }
    return sending(address)
  }

  /// The content is complete at the server, by this upload or another; see `FileEndpoints.md`.
  static let contentExists = "urn:fieldvault:content-exists"
  /// The account has no quota left. Any other 507 is a full disk, which an administrator can fix.
  static let quotaExceeded = "urn:fieldvault:quota-exceeded"

  private mutating func afterRefusal(_ status: Int, _ retryAfter: Int?, _ type: String?) -> Step {
    switch (step, status) {
    case (_, 401): return .stop(.credentials)
    case (.create, 413): return .stop(.tooLarge)
    case (.ask, 413): return .stop(.transport(.unreachable(status: status)))
    // The upload is forgotten or expired, or belongs to another user.
    case (.look, 403), (.look, 404), (.look, 410), (.send, 403), (.send, 404), (.send, 410): return beginAnew()
    case (.send, 409), (.send, 460): return lookAgain()
    case (.send(_, _, let bytes), 413):
      // A smaller part is no repetition. The size reaches its minimum soon.
      guard chunk.wasTooLarge(bytes: bytes) else { return .stop(.tooLarge) }
      return address.map { .look(address: $0) } ?? .create
    case (_, 403): return .stop(.credentials)
    case (_, 423): return .stop(.later(seconds: retryAfter ?? 2))
    case (_, 429), (_, 503): return .stop(.later(seconds: retryAfter))
    case (_, 507): return .stop(type == Self.quotaExceeded ? .noRoom : .later(seconds: retryAfter ?? 300))
    case (_, 502), (_, 504): return .stop(.transport(.unreachable(status: status)))
    case (_, 408), (_, 500...): return .stop(.serverFailed(status: status))
    default: return .stop(.refused(status: status))
    }
  }

  private mutating func afterFailure(_ failure: TransportFailure) -> Step {
    if case .send = step { chunk.failed() }
    return .stop(.transport(failure))
  }

  /// The server and this device disagree about the number of bytes or about the content.
  private mutating func lookAgain() -> Step {
    guard let address, repeats() else { return .stop(.noProgress) }
    return .look(address: address)
  }

  private mutating func beginAnew() -> Step {
    (address, offset) = (nil, 0)
    return repeats() ? .remember(address: nil) : .stop(.noProgress)
  }

  private mutating func repeats() -> Bool {
    repetitions += 1
    return repetitions <= Self.mostRepetitions
  }
}
