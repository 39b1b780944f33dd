import SyncModel

/// How a server is asked for an address to which a file is then sent without its token, and told that it is there.
///
/// In paths, headers and bodies these words stand for what is known of the file:
///
/// | word | stands for |
/// |---|---|
/// | `{bytes}` | how many bytes are sent; as the whole text of a JSON string it becomes a number |
/// | `{sha256}`, `{sha256hex}` | SHA-256 of what is sent, in base64 and in lower-case hexadecimal digits |
/// | `{contentType}` | its media type |
/// | `{key}` | how the server calls the upload; in ``confirm`` alone |
public struct PresignedAPI: Sendable {
  /// A request to the server itself, with its token.
  public struct Request: Sendable {
    /// `POST` or another one, in upper case.
    public var method: String
    /// Below the server's address. What stands for a word is percent-encoded.
    public var path: String
    /// Headers beside those of every request, such as one that makes a repeat harmless.
    public var headers: [(name: String, value: String)]
    /// JSON; nil for none.
    public var body: SyncValue?

    /// A request.
    public init(
      _ method: String = "POST", _ path: String, headers: [(name: String, value: String)] = [], body: SyncValue? = nil
    ) {
      (self.method, self.path, self.headers, self.body) = (method, path, headers, body)
    }
  }

  /// How an address is asked for.
  public var ask: Request
  /// Where in the answer the address is: names of members, from the outside in.
  public var urlAt = ["url"]
  /// Where the headers are that have to go along, an object of texts; nil where the API names none. The file's type goes
  /// along in any case.
  public var headersAt: [String]? = ["headers"]
  /// Where the answer says how it calls the upload; nil where ``confirm`` does not need it. It is stored before the file is
  /// sent, so that a program that was killed asks first whether it had arrived.
  public var keyAt: [String]? = ["key"]
  /// How the file is sent.
  public var method = "PUT"
  /// How the server is told that the file is there; nil where it need not be.
  public var confirm: Request?
  /// Where an answer with a good status says that something is wrong after all; nil where none does.
  public var errorAt: [String]?
  /// What refusals mean that the server has had the file before: `type` of problems (RFC 9457).
  public var existsTypes: Set<String> = []
  /// The same, by statuses.
  public var existsStatuses: Set<Int> = []
  /// What an answer to ``confirm`` means that the file is not there: it is sent again.
  public var absentStatuses: Set<Int> = [404, 409, 410]
  /// The longest file that is worth a question, in bytes; nil when that is not known.
  public var greatestBytes: Int64?

  /// An API with the usual names in its answers.
  public init(ask: Request, confirm: Request?) { (self.ask, self.confirm) = (ask, confirm) }
}

/// What is known of a file before an address for it is asked for.
public struct UploadDescription: Equatable, Sendable {
  /// How many bytes are sent.
  public var byteCount: Int64
  /// SHA-256 of them.
  public var sha256: [UInt8]
  /// What they are.
  public var contentType: String
}

/// Where a file may be sent for a while.
public struct PresignedAddress: Equatable, Sendable {
  /// The whole address, with what makes it valid.
  public var url: String
  /// Names and values that have to go along as they are.
  public var headers: [String: String]
  /// How the server calls the upload; empty where it does not say.
  public var key: String
}
