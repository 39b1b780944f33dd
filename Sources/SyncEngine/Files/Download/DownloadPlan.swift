import WebTransport

/// One download as a value: what has happened gives what is done next, without clock, network or disk.
public struct DownloadPlan: Equatable, Sendable {
  /// What is to be done next.
  public enum Step: Equatable, Sendable {
    /// `GET` from an offset on; with a tag only if the server still has the same file, all of it otherwise.
    case fetch(offset: Int64, tag: String?)
    /// What is here is thrown away.
    case empty
    /// What is here is compared with what it should be.
    case verify
    /// All of it is here, and is what it should be.
    case done
    /// Ends for now; what is here stays and is gone on with.
    case stop(DownloadProblem)
  }

  /// What has happened.
  public enum Event: Equatable, Sendable {
    /// The answer is over, whole or not: so many bytes are here.
    case fetched(bytes: Int64, isWhole: Bool)
    /// The server has answered with something else; `length` is that of the file, where the answer says it.
    case refused(status: Int, retryAfterSeconds: Int?, length: Int64?)
    /// There was no answer, or it was cut.
    case failed(TransportFailure, bytes: Int64)
    /// Nothing is here any more.
    case emptied
    /// The comparison has ended.
    case verified(Bool)
  }

  /// The tag of the file that the bytes here are of, such as `"abc"`.
  public private(set) var tag: String?
  private var bytes: Int64
  private var hasBegunAnew = false
  private var step: Step

  /// A download of which so many bytes are here already.
  public init(bytes: Int64, tag: String?) {
    (self.bytes, self.tag) = (bytes, tag)
    step = .fetch(offset: bytes, tag: bytes > 0 ? tag : nil)
  }

  /// What is done first.
  public var first: Step { step }

  /// What an answer says before its body: whether it goes on where the bytes end, or begins anew; nil when it is no file.
  public mutating func accept(status: Int, headers: [String: String]) -> (offset: Int64, length: Int64?)? {
    guard case .fetch(let offset, _) = step else { return nil }
    // A file is no page for people: that comes from somebody on the way.
    if headers["content-type"]?.hasPrefix("text/html") ?? false { return nil }
    // A weak tag does not say that the bytes are the same.
    if let found = headers["etag"], found.hasPrefix("\"") { tag = found }
    switch status {
    case 200: return (0, headers["content-length"].flatMap { Int64($0) })
    case 206:
      guard let range = ContentRange(headers["content-range"]), range.begin == offset else { return nil }
      return (offset, range.length)
    default: return nil
    }
  }

  /// What is done after an event.
  public mutating func next(after event: Event) -> Step {
    step = following(event)
    return step
  }

  private mutating func following(_ event: Event) -> Step {
    switch event {
    case .fetched(let bytes, let isWhole):
      self.bytes = bytes
      return isWhole ? .verify : .stop(.transport(.noConnection(detail: "the answer ended before it was whole")))
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
    // Nothing is left to send: all of it is here, or what is here is of something else.
    case 416: bytes > 0 && length == bytes ? .verify : beginAnew()
    // A part that was not asked for.
    case 206: beginAnew()
    case 200..<300: .stop(.transport(.notTheServer(detail: "it answers with a page for people")))
    case 401, 403: .stop(.credentials)
    case 404, 410: .stop(.absent)
    case 429, 503, 507: .stop(.later(seconds: retryAfter))
    case 502, 504: .stop(.transport(.unreachable(status: status)))
    case 408, 500...: .stop(.serverFailed(status: status))
    default: .stop(.refused(status: status))
    }
  }

  /// Once: what is wrong a second time is wrong at the server.
  private mutating func beginAnew() -> Step {
    defer { hasBegunAnew = true }
    return hasBegunAnew ? .stop(.damaged) : .empty
  }
}

/// Why a download ends for now.
public enum DownloadProblem: Error, Equatable, Sendable {
  /// The server was not reached, or the connection was lost.
  case transport(TransportFailure)
  /// The server was reached, and the place where it keeps files was not.
  case storeNotReached(TransportFailure)
  /// The server wants to be left alone for so long; nil when it does not say.
  case later(seconds: Int?)
  /// The server failed at it.
  case serverFailed(status: Int)
  /// The server does not have the file, or not yet.
  case absent
  /// The token is not valid.
  case credentials
  /// What the server has is not what it should be. Nothing of it is kept.
  case damaged
  /// One of the two programs is mistaken.
  case refused(status: Int)
  /// What came could not be kept on this device.
  case notWritten
}

/// The header `Content-Range` (RFC 9110, section 14.4): `bytes 10-19/20`, or `bytes */20`.
struct ContentRange: Equatable {
  /// Where the part begins; nil when there is none.
  var begin: Int64?
  /// The length of the whole; nil when it is not known.
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
