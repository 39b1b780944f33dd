/// The reason why the server could not be set up or a command failed.
public struct ServerError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure. Kinds can be added; a `switch` always needs a `default`.
  public enum Code: String, Sendable {
    /// An unknown user.
    case noSuchUser
    /// An unknown account.
    case noSuchAccount
    /// The account is being deleted.
    case deleted
    /// Other users of the account would lose their data.
    case otherUsers
    /// A user with this name exists.
    case userExists
    /// An unknown token.
    case noSuchToken
    /// An unknown device.
    case noSuchDevice
    /// The expiry time of a token is in the past.
    case badExpiry
    /// A name is empty, too long or has invalid characters.
    case badName
    /// Another process serves the same folder.
    case busy
    /// The file or folder already exists.
    case exists
    /// The folder contains no server data.
    case noData
    /// The key does not open the data.
    case wrongKey
    /// A file of the data is missing, empty or cannot be read. It is not recreated.
    case damaged
    /// The schemas differ from the schemas of the data.
    case schemas
    /// The database cannot be reached or used.
    case badDatabase
    /// The settings of the object store are invalid.
    case badObjectStore
    /// The file with the keys under which values are sealed is missing, invalid or incomplete.
    case badSealKeys
    /// The settings of the webhook are invalid.
    case badWebhook
    /// The settings or the keys of the identity provider are invalid.
    case badIdentityProvider
    /// The user of a valid token of the identity provider has no access.
    case signInRefused
    /// The disk fails, or the system has no file descriptors left.
    case disk
    /// A request of the operating system failed.
    case system
  }

  /// The kind of failure, for programs.
  public let code: Code
  /// The failure, for the administrator.
  public let message: String
  /// The action that resolves the failure, if it is known.
  public let remedy: ServerRemedy?
  /// The remedy as a text; `nil` without a remedy, or if only a program can word it.
  public var hint: String? { remedy?.advice }

  /// Creates an error.
  public init(_ code: Code, _ message: String, hint: String? = nil) {
    self.init(code, message, remedy: hint.map(ServerRemedy.advice))
  }

  /// Creates an error with the action that resolves it.
  public init(_ code: Code, _ message: String, remedy: ServerRemedy?) {
    self.code = code
    self.message = message
    self.remedy = remedy
  }

  /// The message, followed by the hint in parentheses.
  public var description: String { hint.map { "\(message) (\($0))" } ?? message }
}
