import HTTPClient

/// The steps of one upload to an address that the server names, as a pure function of events, without a clock, a
/// network or a disk.
public struct PresignedPlan: Equatable, Sendable {
  /// The next step.
  public enum Step: Equatable, Sendable {
    /// Asks the server for an address.
    case ask
    /// Stores the server's name of the upload durably, before any byte is sent.
    case remember(key: String)
    /// Sends the complete file.
    case put(PresignedAddress)
    /// Confirms the upload, or asks whether it arrived.
    case confirm(key: String)
    /// The server has the file. `key` is `nil` if the server had it before.
    case done(key: String?)
    /// Ends for now.
    case stop(UploadProblem)
  }

  /// An event of the upload.
  public enum Event: Equatable, Sendable {
    /// The server has named an address.
    case given(PresignedAddress)
    /// The server has this file already.
    case exists
    /// The name of the upload was stored.
    case remembered
    /// The store has received all bytes.
    case stored
    /// The server has found it.
    case confirmed
    /// The server does not find the file, or finds a different one.
    case absent
    /// The server returned another status; `what` is its message, `type` the type of its problem (RFC 9457).
    case refused(status: Int, retryAfterSeconds: Int?, type: String? = nil, what: String? = nil)
    /// The store has; `code` is its own word for it.
    case storeRefused(status: Int, retryAfterSeconds: Int?, code: String? = nil)
    /// The request failed.
    case failed(TransportFailure)
  }

  /// The number of times that one attempt requests an address or sends the file again.
  static let mostRepetitions = 3

  private let confirms: Bool
  private var address: PresignedAddress?
  private var key: String?
  private var step: Step
  private var repetitions = 0
  /// The last request to the store, if its result is unknown.
  private var cut: TransportFailure?

  /// Creates the plan of an upload.
  /// - Parameters:
  ///   - key: the name of an upload that was begun, or `nil`.
  ///   - confirms: whether the API has a confirmation.
  public init(key: String?, confirms: Bool) {
    self.confirms = confirms
    self.key = key
    // The file may have arrived before the response was lost or the program was killed.
    step = confirms ? key.map { .confirm(key: $0) } ?? .ask : .ask
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
    case .given(let address):
      self.address = address
      defer { key = address.key }
      return confirms && key != address.key ? .remember(key: address.key) : .put(address)
    case .exists: return .done(key: nil)
    case .remembered: return address.map { .put($0) } ?? .stop(.unexpected)
    case .stored:
      cut = nil
      return confirms ? .confirm(key: key ?? "") : .done(key: key)
    case .confirmed: return .done(key: key)
    case .absent: return afterAbsence()
    case .refused(let status, let retryAfter, let type, let what): return afterRefusal(status, retryAfter, type, what)
    case .storeRefused(let status, let retryAfter, let code): return afterStoreRefusal(status, retryAfter, code)
    case .failed(let failure): return afterFailure(failure)
    }
  }

  private mutating func afterAbsence() -> Step {
    guard repeats() else { return .stop(cut.map { .storeNotReached($0) } ?? .noProgress) }
    // It was cut on its way, and the address is good as far as is known.
    if cut != nil, let address { return .put(address) }
    return .ask
  }

  private mutating func afterFailure(_ failure: TransportFailure) -> Step {
    guard case .put(let address) = step, failure != .cancelled else { return .stop(.transport(failure)) }
    cut = failure
    // Only the server knows whether the file arrived. If it cannot be asked, there is no connection.
    if confirms { return .confirm(key: key ?? "") }
    return repeats() ? .put(address) : .stop(.storeNotReached(failure))
  }

  private func afterRefusal(_ status: Int, _ retryAfter: Int?, _ type: String?, _ what: String?) -> Step {
    switch status {
    case 401, 403: .stop(.credentials)
    case 413: .stop(.tooLarge)
    case 415, 422: .stop(.notTaken(what ?? "status \(status)"))
    case 429, 503: .stop(.later(seconds: retryAfter))
    case 502, 504: .stop(.transport(.unreachable(status: status)))
    case 507: .stop(type == TusPlan.quotaExceeded ? .noRoom : .later(seconds: retryAfter ?? 300))
    case 408, 500...: .stop(.serverFailed(status: status))
    // The error in a response with a successful status.
    case 200..<300: .stop(.notTaken(what ?? "status \(status)"))
    default: .stop(.refused(status: status))
    }
  }

  private mutating func afterStoreRefusal(_ status: Int, _ retryAfter: Int?, _ code: String?) -> Step {
    let refusal = UploadProblem.storeRefused(status: status, code: code)
    switch (status, code) {
    case (413, _), (_, "EntityTooLarge"): return .stop(.tooLarge)
    case (415, _): return .stop(.notTaken(code ?? "its type"))
    case (429, _), (503, _): return .stop(.later(seconds: retryAfter))
    case (408, _), (500..., _), (_, "RequestTimeout"): return .stop(.serverFailed(status: status))
    // The address has expired, or it is not one for this file.
    default: return repeats() ? .ask : .stop(refusal)
    }
  }

  private mutating func repeats() -> Bool {
    repetitions += 1
    return repetitions <= Self.mostRepetitions
  }
}
