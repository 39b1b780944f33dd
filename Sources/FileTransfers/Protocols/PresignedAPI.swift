import SyncModel

/// The requests by which a server provides an address for an upload, and receives a confirmation that the file was sent
/// to the address without the token.
///
/// Paths, headers and bodies may contain these variables:
///
/// | variable | value |
/// |---|---|
/// | `{bytes}` | the number of bytes; as the whole text of a JSON string it becomes a number |
/// | `{sha256}`, `{sha256hex}` | SHA-256 of the bytes, in base64 and in lower-case hexadecimal digits |
/// | `{contentType}` | the media type |
/// | `{key}` | the server's name of the upload; in ``confirm`` only |
public struct PresignedAPI: Sendable {
  /// A request to the server itself, with its token.
  public struct Request: Sendable {
    /// The HTTP method in upper case, such as `POST`.
    public var method: String
    /// The path below the server's address. The values of variables are percent-encoded.
    public var path: String
    /// Headers in addition to those of every request, such as one that makes a repetition harmless.
    public var headers: [(name: String, value: String)]
    /// The body as JSON, or `nil`.
    public var body: SyncValue?

    /// Creates a request.
    public init(
      _ method: String = "POST", _ path: String, headers: [(name: String, value: String)] = [], body: SyncValue? = nil
    ) {
      (self.method, self.path, self.headers, self.body) = (method, path, headers, body)
    }
  }

  /// The request for an address.
  public var ask: Request
  /// The position of the address in the response: member names, from the outermost to the innermost.
  public var urlAt = ["url"]
  /// The position of the headers for the upload, an object of texts; `nil` if the API names no headers. The media type is
  /// always sent.
  public var headersAt: [String]? = ["headers"]
  /// The position of the upload's name in the response; `nil` if ``confirm`` does not need it. It is stored before
  /// the file is sent, so that after a crash the first request finds out whether the file arrived.
  public var keyAt: [String]? = ["key"]
  /// The HTTP method that sends the file.
  public var method = "PUT"
  /// The request that confirms the upload, or `nil` if the API has no such feature.
  public var confirm: Request?
  /// The position of an error in a response with a successful status, or `nil`.
  public var errorAt: [String]?
  /// The refusals that mean that the server already has the file: `type` of problems (RFC 9457).
  public var existsTypes: Set<String> = []
  /// The statuses that mean that the server already has the file.
  public var existsStatuses: Set<Int> = []
  /// The responses to ``confirm`` that mean that the file is missing. It is sent again.
  public var absentStatuses: Set<Int> = [404, 409, 410]
  /// The maximum size in bytes of a file for which an address is requested; `nil` if unknown.
  public var greatestBytes: Int64?

  /// Creates an API with the usual names in its responses.
  public init(ask: Request, confirm: Request?) { (self.ask, self.confirm) = (ask, confirm) }
}

/// The facts about a file before an address for it is requested.
public struct UploadDescription: Equatable, Sendable {
  /// The number of bytes.
  public var byteCount: Int64
  /// The SHA-256 of the bytes.
  public var sha256: [UInt8]
  /// The media type.
  public var contentType: String
}

/// A temporary address for an upload.
public struct PresignedAddress: Equatable, Sendable {
  /// The complete address, including its signature.
  public var url: String
  /// Names and values of headers that must be sent unchanged.
  public var headers: [String: String]
  /// The server's name of the upload; empty if the response has no name.
  public var key: String
}
