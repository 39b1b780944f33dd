/// Why the server could not be set up or a command about it could not be carried out.
public struct ServerError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure. Kinds can be added; a `switch` always needs a `default`.
  public enum Code: String, Sendable {
    /// No user has that name.
    case noSuchUser
    /// A user with this name exists.
    case userExists
    /// No token has that number.
    case noSuchToken
    /// A token is to end in the past.
    case badExpiry
    /// A name is empty, too long or has characters that no name has.
    case badName
    /// Another process serves the same folder.
    case busy
    /// Something has the name already.
    case exists
    /// The folder holds no data of a server.
    case noData
    /// The key does not open the data.
    case wrongKey
    /// A file of the data is missing, empty or cannot be read. It is not recreated.
    case damaged
    /// The schemas are not those that the data were created with.
    case schemas
    /// The object store cannot be used as it was described.
    case badObjectStore
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
  /// The remedy as a text; `nil` if there is none, or if only a program can word it.
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
