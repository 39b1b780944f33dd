import WebTransport

/// One upload by tus 1.0 as a value: what has happened gives what is done next, without clock, network or disk.
public struct TusPlan: Equatable, Sendable {
  /// What is to be done next.
  public enum Step: Equatable, Sendable {
    /// `OPTIONS`: what the server can.
    case ask
    /// `POST`: makes an upload.
    case create
    /// The address of the upload is stored, durably, before anything is sent there. Nil forgets one that is gone.
    case remember(address: String?)
    /// `HEAD`: how much the server has.
    case look(address: String)
    /// `PATCH`: sends so many bytes from an offset on; all that are left when that is less.
    case send(address: String, offset: Int64, bytes: Int64)
    /// The server has all of it. `address` is nil where it has had it before.
    case done(address: String?)
    /// Ends for now.
    case stop(UploadProblem)
  }

  /// What has happened.
  public enum Event: Equatable, Sendable {
    /// The server has said what it can.
    case asked(TusServer)
    /// The upload was made.
    case created(address: String)
    /// The server has this content already, under whatever address.
    case exists
    /// What was to be remembered is on the disk.
    case remembered
    /// The server has so many bytes, of a file of a length that it knows or does not know yet.
    case found(offset: Int64, length: Int64?)
    /// The bytes of the last request were taken.
    case sent(offset: Int64, bytes: Int64, seconds: Double)
    /// The server has answered with another status; `type` is that of a problem (RFC 9457), where the answer has one.
    case refused(status: Int, retryAfterSeconds: Int?, type: String? = nil)
    /// There was no answer.
    case failed(TransportFailure)
  }

  /// How often in a row an upload is made anew, or a chunk is sent again, without a byte of progress.
  static let mostRepetitions = 3

  /// How much is sent at a time; worth keeping for the next file on the same link.
  public private(set) var chunk: ChunkSize
  /// What is known of the server; nil until it was asked.
  public private(set) var server: TusServer?
  /// How much the server has, as far as is known.
  public private(set) var offset: Int64 = 0

  private let byteCount: Int64?
  private var address: String?
  private var step: Step
  private var repetitions = 0
  /// The furthest that any upload of it came: only beyond it there is progress.
  private var furthest: Int64 = 0

  /// An upload.
  /// - Parameters:
  ///   - byteCount: how long the file is; nil when that is known at its end only.
  ///   - address: of an upload that was begun; nil for none.
  ///   - server: what is known of the server; nil to ask it.
  public init(byteCount: Int64?, address: String?, server: TusServer? = nil, chunk: ChunkSize = ChunkSize()) {
    (self.byteCount, self.address, self.server, self.chunk) = (byteCount, address, server, chunk)
    step = .ask
    if server != nil { step = afterAsking() }
  }

  /// What is done first.
  public var first: Step { step }

  /// What is done after an event.
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
    // What is longer than the file, or is said to be of another length, is not this file.
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
    // An empty file is whole as soon as it is there.
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
  /// The account has no room; any other 507 is a full disk, which somebody makes room on.
  static let quotaExceeded = "urn:fieldvault:quota-exceeded"

  private mutating func afterRefusal(_ status: Int, _ retryAfter: Int?, _ type: String?) -> Step {
    switch (step, status) {
    case (_, 401): return .stop(.credentials)
    case (.create, 413): return .stop(.tooLarge)
    // Forgotten, expired, or somebody else's.
    case (.look, 403), (.look, 404), (.look, 410), (.send, 403), (.send, 404), (.send, 410): return beginAnew()
    case (.send, 409), (.send, 460): return lookAgain()
    case (.send(_, _, let bytes), 413):
      return chunk.wasTooLarge(bytes: bytes) ? lookAgain() : .stop(.tooLarge)
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

  /// The server and this device do not agree on how much is there, or on what.
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
