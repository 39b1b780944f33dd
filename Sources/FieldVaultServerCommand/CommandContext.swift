import CommandLineKit
import Platform
import PostgresStorage
import SQLCipherStorage
import ServerStorage
import SyncServer

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The context of every command: its arguments, its output, and the server's folder.
struct CommandContext: Sendable {
  let arguments: ParsedArguments
  let output: Output
  /// Messages, hints and the log of requests, on standard error.
  let messages: Output

  init(_ arguments: ParsedArguments) {
    self.arguments = arguments
    let noColor = arguments.flag("no-color")
    output = Output(descriptor: STDOUT_FILENO, terminal: Terminal(descriptor: STDOUT_FILENO, noColor: noColor))
    messages = Output(descriptor: STDERR_FILENO, terminal: Terminal(descriptor: STDERR_FILENO, noColor: noColor))
  }

  var isJSON: Bool { arguments.flag("json") }

  /// The folder of `--data`.
  func folder(isCreating: Bool) throws -> ServerFolder {
    guard let path = arguments.value("data") else {
      throw arguments.mistake(
        "the data of the server are not named", about: "data", .missingValue,
        hint: "give a folder, --data DIR, or a database, --database URL")
    }
    var folder = try ServerFolder(path, keyFile: arguments.value("key-file"), isCreating: isCreating)
    folder.actor = actor
    return folder
  }

  /// The acting user for the audit log. `sudo` names the user who called it.
  private var actor: String {
    let user = ProcessResources.userName
    guard getuid() == 0, let caller = getenv("SUDO_USER") else { return user }
    return "\(String(cString: caller)) as \(user)"
  }

  /// The settings of `--database`; `nil` for data in a folder.
  func databaseSettings() throws -> PostgresSettings? {
    guard let url = arguments.value("database") else { return nil }
    for name in ["data", "key-file"] where arguments.value(name) != nil {
      throw arguments.mistake("--database and --\(name) exclude each other", about: name)
    }
    var settings = PostgresSettings(url: url)
    settings.actor = actor
    return settings
  }

  /// Runs a closure with the users and tokens of the server.
  func withDirectory<Result>(isCreating: Bool, _ body: (any AccountDirectory) throws -> Result) throws -> Result {
    guard let settings = try databaseSettings() else {
      let directory = try ServerDirectory(in: try folder(isCreating: isCreating))
      defer { directory.close() }
      return try body(directory)
    }
    let database = try PostgresDatabase(settings)
    defer { database.close() }
    return try body(PostgresDirectory(database))
  }

  /// Writes the one JSON document of the command.
  func writeJSON(_ body: (inout JSONWriter) -> Void) throws {
    var json = JSONWriter(for: output)
    body(&json)
    json.endDocument()
    try json.drain(to: output)
  }

  /// Writes additional information for the user.
  func note(_ text: String) {
    guard !arguments.flag("quiet") else { return }
    line(messages.terminal.styled(text, .dim))
  }

  /// Writes a line to standard error at once.
  func line(_ text: String) {
    // With a closed standard error the text has no reader.
    try? messages.line(text)
    try? messages.flush()
  }

  /// Reports an error and ends.
  func report(_ error: any Error) -> Never {
    let report = ErrorReport(error)
    try? output.flush()
    line(report.text(for: messages.terminal))
    exit(report.exitCode.rawValue)
  }
}
