import HTTPClient

/// The steps of one download, as a pure function of events, without a clock, a network or a disk.
public struct DownloadPlan: Equatable, Sendable {
  /// The next step.
  public enum Step: Equatable, Sendable {
    /// Sends `GET` from an offset. With a tag, the server sends the rest only if it still has the same file, and
    /// otherwise the complete file.
    case fetch(offset: Int64, tag: String?)
    /// Discards the received bytes.
    case empty
    /// Verifies the received bytes.
    case verify
    /// The file is complete and verified.
    case done
    /// Ends for now. The received bytes stay, and a later attempt resumes.
    case stop(DownloadProblem)
  }

  /// An event of the download.
  public enum Event: Equatable, Sendable {
    /// The response has ended, complete or not, with this many bytes on the disk.
    case fetched(bytes: Int64, isWhole: Bool)
    /// The server returned another status; `length` is the length of the file, if the response has it.
    case refused(status: Int, retryAfterSeconds: Int?, length: Int64?)
    /// The request failed, or the response was cut.
    case failed(TransportFailure, bytes: Int64)
    /// The received bytes were discarded.
    case emptied
    /// The comparison has ended.
    case verified(Bool)
  }

  /// The tag of the file to which the received bytes belong, such as `"abc"`.
  public private(set) var tag: String?
  private var bytes: Int64
  private var hasBegunAnew = false
  private var step: Step

  /// Creates a plan for a download with a number of bytes already received.
  public init(bytes: Int64, tag: String?) {
    (self.bytes, self.tag) = (bytes, tag)
    step = .fetch(offset: bytes, tag: bytes > 0 ? tag : nil)
  }

  /// The first step.
  public var first: Step { step }

  /// Returns whether a response continues after the received bytes or restarts, by its status and headers; `nil` if
  /// it is not a file.
  public mutating func accept(status: Int, headers: [String: String]) -> (offset: Int64, length: Int64?)? {
    guard case .fetch(let offset, _) = step else { return nil }
    // An HTML page is not a file: it comes from an intermediary.
    if headers["content-type"]?.hasPrefix("text/html") ?? false { return nil }
    // A weak tag does not prove equal bytes.
    if let found = headers["etag"], found.hasPrefix("\"") { tag = found }
    switch status {
    case 200: return (0, headers["content-length"].flatMap { Int64($0) })
    case 206:
      guard let range = ContentRange(headers["content-range"]), range.begin == offset else { return nil }
      return (offset, range.length)
    default: return nil
    }
  }

  /// Returns the step after an event.
  public mutating func next(after event: Event) -> Step {
    step = following(event)
    return step
  }

  private mutating func following(_ event: Event) -> Step {
    switch event {
    case .fetched(let bytes, let isWhole):
      self.bytes = bytes
      return isWhole ? .verify : .stop(.transport(.noConnection(detail: "the response ended before it was whole")))
    case .refused(let status, let retryAfter, let length): return afterRefusal(status, retryAfter, length)
    case .failed(let failure, let bytes):
      self.bytes = bytes
      return .stop(failure == .bodyFailed ? .notWritten : .transport(failure))
    case .emptied:
      (bytes, tag) = (0, nil)
      return .fetch(offset: 0, tag: nil)
    case .verified(let isRight): return isRight ? .done : beginAnew()
    }
  }

  private mutating func afterRefusal(_ status: Int, _ retryAfter: Int?, _ length: Int64?) -> Step {
    switch status {
    // The server has nothing left to send: the file is complete, or the received bytes belong to another file.
    case 416: bytes > 0 && length == bytes ? .verify : beginAnew()
    // A part that was not asked for.
    case 206: beginAnew()
    case 200..<300: .stop(.transport(.htmlPage))
    case 401, 403: .stop(.credentials)
    case 404, 410: .stop(.absent)
    case 429, 503, 507: .stop(.later(seconds: retryAfter))
    case 502, 504: .stop(.transport(.unreachable(status: status)))
    case 408, 500...: .stop(.serverFailed(status: status))
    default: .stop(.refused(status: status))
    }
  }

  /// Restarts once. A second mismatch is an error of the server.
  private mutating func beginAnew() -> Step {
    defer { hasBegunAnew = true }
    return hasBegunAnew ? .stop(.damaged) : .empty
  }
}

/// The reason why a download ends for now.
public enum DownloadProblem: Error, Equatable, Sendable {
  /// The server was not reached, or the connection was lost.
  case transport(TransportFailure)
  /// The server was reached, and the place where it keeps files was not.
  case storeNotReached(TransportFailure)
  /// The server asks for a delay of this many seconds; `nil` without a number.
  case later(seconds: Int?)
  /// The server failed at it.
  case serverFailed(status: Int)
  /// The server does not have the file, or not yet.
  case absent
  /// The token is not valid.
  case credentials
  /// The server's file is not the expected one. No byte is kept.
  case damaged
  /// One of the two programs is mistaken.
  case refused(status: Int)
  /// The received bytes could not be written on this device.
  case notWritten
}

/// The header `Content-Range` (RFC 9110, section 14.4): `bytes 10-19/20`, or `bytes */20`.
struct ContentRange: Equatable {
  /// The offset of the part, or `nil`.
  var begin: Int64?
  /// The length of the complete file; `nil` if unknown.
  var length: Int64?

  init?(_ text: String?) {
    guard let text, text.hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    length = Int64(parts[1])
    begin = parts[0].split(separator: "-").first.flatMap { Int64($0) }
    guard begin != nil || parts[0] == "*" else { return nil }
  }
}
