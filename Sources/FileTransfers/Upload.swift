import HTTPClient

/// A file to upload.
public struct UploadSource: Sendable {
  /// The length of the file; `nil` if it is known only at the end.
  public var byteCount: Int64?
  /// Its media type. An encrypted file is `application/octet-stream`.
  public var contentType: String
  /// Reads bytes from an offset and returns their number; 0 at the end only.
  public var read: @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int

  /// Creates a source.
  public init(
    byteCount: Int64?, contentType: String = "application/octet-stream",
    read: @escaping @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int
  ) {
    (self.byteCount, self.contentType, self.read) = (byteCount, contentType, read)
  }
}

/// The result of an upload by any protocol.
public struct UploadResult: Sendable {
  /// The reason why the upload ended early; `nil` if the server has the complete file.
  public var problem: UploadProblem?
  /// The number of bytes that the server has, as far as it is known.
  public var offset: Int64
  /// Facts about the link, for the next file.
  public var link: FileServerState
  /// Whether the file was sent. `false` if the server had the content before, whose bytes are not verified.
  public var wasSent: Bool

  /// Creates a result.
  public init(problem: UploadProblem?, offset: Int64, link: FileServerState, wasSent: Bool = true) {
    (self.problem, self.offset, self.link, self.wasSent) = (problem, offset, link, wasSent)
  }
}

/// The reason why an upload ends for now.
public enum UploadProblem: Error, Equatable, Sendable {
  /// The server was not reached, or the connection was lost.
  case transport(TransportFailure)
  /// The server was reached, and the place where it keeps files was not.
  case storeNotReached(TransportFailure)
  /// The server asks for a delay of this many seconds; `nil` without a number.
  case later(seconds: Int?)
  /// The server failed at it.
  case serverFailed(status: Int)
  /// The server's object store refused the file at several addresses, with this error code.
  case storeRefused(status: Int, code: String?)
  /// The server repeatedly stored different content than was sent.
  case noProgress
  /// The token is not valid.
  case credentials
  /// The file is larger than the server accepts.
  case tooLarge
  /// The server refuses the file, for example for its type; in the server's words.
  case notTaken(String)
  /// The server has no space left for the files of this account.
  case noRoom
  /// One of the two programs is mistaken.
  case refused(status: Int)
  /// A response that does not belong to the request.
  case unexpected
  /// The file has changed or cannot be read.
  case unreadable
  /// The vault of this device could not be read or written.
  case vaultFailed
}
