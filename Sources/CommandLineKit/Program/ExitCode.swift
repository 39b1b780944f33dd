/// The exit code of a program. Scripts rely on these numbers.
public struct ExitCode: Sendable, Hashable {
  /// The number that the shell sees.
  public let rawValue: Int32
  /// Its meaning, for the help.
  public let meaning: String

  /// Creates a code. Both programs use the named ones below.
  public init(_ rawValue: Int32, _ meaning: String) {
    self.rawValue = rawValue
    self.meaning = meaning
  }

  /// Two codes are the same when their numbers are.
  public static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }

  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

  /// Success.
  public static let done = ExitCode(0, "done")
  /// A failure without a code of its own.
  public static let failed = ExitCode(1, "failed, see the message")
  /// Nothing was done, because the command line is wrong.
  public static let usage = ExitCode(2, "the command line is wrong")
  /// No key that fits.
  public static let locked = ExitCode(3, "cannot unlock: wrong or missing passphrase or key")
  /// The named object does not exist.
  public static let notFound = ExitCode(4, "no such vault, entity or record")
  /// A file is damaged.
  public static let damaged = ExitCode(5, "damaged: the file is not what was written")
  /// Trying again later may work.
  public static let busy = ExitCode(6, "busy: another process holds what is needed")
  /// No network, or no response.
  public static let offline = ExitCode(7, "offline, or the server cannot be reached")
  /// Done, and the user has to decide something.
  public static let attention = ExitCode(8, "done, but conflicts or failed operations need a decision")
  /// The disk is full.
  public static let noSpace = ExitCode(9, "no space left")
  /// The data forbid it.
  public static let refused = ExitCode(10, "refused by a rule of the data: a constraint, a bad value")
  /// The server does not know us, or no longer.
  public static let credentials = ExitCode(11, "the server refused the credentials")
  /// The user or the system stopped the program.
  public static let interrupted = ExitCode(130, "interrupted")

  /// Every named code, in the order of help.
  public static let all: [ExitCode] = [
    .done, .failed, .usage, .locked, .notFound, .damaged, .busy, .offline, .attention, .noSpace, .refused,
    .credentials, .interrupted,
  ]
}
