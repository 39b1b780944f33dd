/// The exit code of a program. Scripts rely on these numbers.
public struct ExitCode: Sendable, Hashable {
  /// The number that the shell sees.
  public let rawValue: Int32
  /// The name in errors that are printed as JSON. Scripts rely on the names.
  public let name: String
  /// The meaning, for the help.
  public let meaning: String

  /// Creates a code. Both programs use the named ones below.
  public init(_ rawValue: Int32, _ name: String, _ meaning: String) {
    self.rawValue = rawValue
    self.name = name
    self.meaning = meaning
  }

  /// Returns whether two codes have the same number.
  public static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }

  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

  /// Success.
  public static let done = ExitCode(0, "done", "done")
  /// A failure without a specific code.
  public static let failed = ExitCode(1, "failed", "failed: see the message")
  /// An invalid command line. The command was not executed.
  public static let usage = ExitCode(2, "usage", "usage error")
  /// A missing or wrong key.
  public static let locked = ExitCode(3, "locked", "cannot unlock: wrong or missing passphrase or key")
  /// The named object does not exist.
  public static let notFound = ExitCode(4, "notFound", "no such vault, entity or record")
  /// A file is damaged.
  public static let damaged = ExitCode(5, "damaged", "damaged data")
  /// Another process has a lock. A later attempt may succeed.
  public static let busy = ExitCode(6, "busy", "busy: another process holds the vault")
  /// A missing network, or a server that does not respond.
  public static let offline = ExitCode(7, "offline", "offline, server unreachable, or device-only mode")
  /// Success, but the user has to decide about conflicts or failed operations.
  public static let attention = ExitCode(8, "attention", "done, but conflicts or failed operations need a decision")
  /// The disk is full.
  public static let noSpace = ExitCode(9, "noSpace", "no space left on the device")
  /// A rule of the data refused the command.
  public static let refused = ExitCode(10, "refused", "refused: a constraint, an invalid value or a pending migration")
  /// The server refused the token.
  public static let credentials = ExitCode(
    11, "credentials", "the server refused the token: missing, revoked or of another account")
  /// The user or the system stopped the program.
  public static let interrupted = ExitCode(130, "interrupted", "interrupted")

  /// Every named code, in the order of help.
  public static let all: [ExitCode] = [
    .done, .failed, .usage, .locked, .notFound, .damaged, .busy, .offline, .attention, .noSpace, .refused,
    .credentials, .interrupted,
  ]
}

/// An error in the form that programs print with `--json`: one JSON object in a line on standard error.
public struct ErrorObject {
  private let exitCode: ExitCode
  private let message: String
  private let hint: String?
  private let candidates: (names: [String], count: Int)?

  /// Creates the form of an error.
  /// - Parameter candidates: the names that an ambiguous word may mean, which may be fewer than their number.
  public init(
    exitCode: ExitCode, message: String, hint: String?, candidates: (names: [String], count: Int)? = nil
  ) {
    (self.exitCode, self.message, self.hint, self.candidates) = (exitCode, message, hint, candidates)
  }

  /// Returns whether a command line that could not be parsed asks for this form.
  public static func isRequested(by words: [String]) -> Bool { words.prefix { $0 != "--" }.contains("--json") }

  /// The bytes of the line.
  public var line: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("code", exitCode.name)
    json.member("exitCode", Int(exitCode.rawValue))
    json.member("message", message)
    json.member("hint", hint)
    if let candidates {
      json.key("candidates")
      json.beginArray()
      for name in candidates.names { json.value(name) }
      json.endArray()
      json.member("candidateCount", candidates.count)
    }
    json.endObject()
    json.endDocument()
    return json.takeBytes()
  }
}
