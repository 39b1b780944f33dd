import WebTransport

/// What is uploaded.
public struct UploadSource: Sendable {
  /// How long it is; nil when that is known at its end only.
  public var byteCount: Int64?
  /// What it is, as a media type. What is encrypted is bytes to everybody else.
  public var contentType: String
  /// Reads bytes from an offset on and returns how many; 0 at the end and only there.
  public var read: @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int

  /// A source.
  public init(
    byteCount: Int64?, contentType: String = "application/octet-stream",
    read: @escaping @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int
  ) {
    (self.byteCount, self.contentType, self.read) = (byteCount, contentType, read)
  }
}

/// How an upload ended, whichever way it went.
public struct UploadResult: Sendable {
  /// Nil when the server has all of it.
  public var problem: UploadProblem?
  /// How much the server has, as far as is known.
  public var offset: Int64
  /// What was learned of the way; good for the next file.
  public var link: FileServerState
  /// Whether the file was sent. `false` when the server said that it had the content before: whose bytes these are is not known.
  public var wasSent: Bool

  /// A result.
  public init(problem: UploadProblem?, offset: Int64, link: FileServerState, wasSent: Bool = true) {
    (self.problem, self.offset, self.link, self.wasSent) = (problem, offset, link, wasSent)
  }
}

/// Why an upload ends for now.
public enum UploadProblem: Error, Equatable, Sendable {
  /// The server was not reached, or the connection was lost.
  case transport(TransportFailure)
  /// The server was reached, and the place where it keeps files was not.
  case storeNotReached(TransportFailure)
  /// The server wants to be left alone for so long; nil when it does not say.
  case later(seconds: Int?)
  /// The server failed at it.
  case serverFailed(status: Int)
  /// The place where the server keeps files does not take it, at none of several addresses; with its own word for why.
  case storeRefused(status: Int, code: String?)
  /// Again and again the server has something else than was sent.
  case noProgress
  /// The token is not valid.
  case credentials
  /// The file is larger than the server takes.
  case tooLarge
  /// The server does not take it for what it is, such as its type; in the server's words.
  case notTaken(String)
  /// The server has no room left for this account.
  case noRoom
  /// One of the two programs is mistaken.
  case refused(status: Int)
  /// An answer to what was not asked.
  case unexpected
  /// The file has changed or cannot be read.
  case unreadable
  /// The vault of this device could not be read or written.
  case vaultFailed
}
