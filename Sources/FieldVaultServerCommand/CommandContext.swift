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
  /// The arguments, completed by environment variables and a configuration file.
  private(set) var arguments: ParsedArguments
  private let commandLine: ParsedArguments
  let output: Output
  /// Messages, hints and the log of requests, on standard error.
  let messages: Output

  init(_ arguments: ParsedArguments) {
    self.arguments = arguments
    commandLine = arguments
    let noColor = arguments.flag("no-color")
    output = Output(descriptor: STDOUT_FILENO, terminal: Terminal(descriptor: STDOUT_FILENO, noColor: noColor))
    messages = Output(descriptor: STDERR_FILENO, terminal: Terminal(descriptor: STDERR_FILENO, noColor: noColor))
  }

  var isJSON: Bool { arguments.flag("json") }

  /// Reads the environment variables and the configuration file. A second call reads them again.
  func completed() throws -> CommandContext {
    var result = self
    result.arguments = try commandLine.adding(Terminal.variable)
    guard result.arguments.isDeclared("config"), let path = result.arguments.value("config") else { return result }
    result.arguments = try result.arguments.adding(result.configuration(path))
    return result
  }

  private func configuration(_ path: String) throws -> ConfigurationFile {
    let file = try OpenFile(reading: path)
    var status = stat()
    // A file in which any user can write lets each of them choose where the data go.
    guard fstat(file.number, &status) == 0, status.st_mode & S_IWOTH == 0 else {
      throw arguments.mistake(
        "all users may write \(escaped(path))", about: "config", hint: "chmod o-w \(escaped(path))")
    }
    let size = min(try file.size(), ConfigurationFile.mostBytes) + 1
    var failure: FileError?
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      do throws(FileError) { count = try file.fill(UnsafeMutableRawBufferPointer(buffer)) } catch { failure = error }
    }
    if let failure { throw failure }
    return try ConfigurationFile(
      bytes, path: path, of: ServerProgram.program, command: ServerProgram.configuredCommand)
  }

  /// The path of `--data`.
  func dataFolder() throws -> String {
    if let path = arguments.value("data") { return path }
    let database = arguments.isDeclared("database") ? ", a database, --database URL," : ""
    throw arguments.mistake(
      "the data of the server are not named", about: "data", .missingValue,
      hint: "give a folder, --data DIR\(database) or a configuration file, --config FILE")
  }

  /// The folder of `--data`.
  func folder(isCreating: Bool) throws -> ServerFolder {
    var folder = try ServerFolder(dataFolder(), keyFile: arguments.value("key-file"), isCreating: isCreating)
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
    guard let url = try databaseAddress("database") else { return nil }
    // A command line with a database displaces the folder of a configuration file, and the key of the folder with it.
    let isDisplacing = arguments.source("database") == .commandLine
    let keyFile = arguments.isDeclared("key-file") ? arguments.source("key-file") : nil
    if let keyFile, !isDisplacing || keyFile == .commandLine {
      throw arguments.mistake(
        "\(arguments.spelled("database")) and \(arguments.spelled("key-file")) exclude each other", about: "key-file")
    }
    var settings = PostgresSettings(url: url)
    settings.actor = actor
    return settings
  }

  /// The settings of `--database` with the keys of `--seal-key`; `nil` for data in a folder.
  func sealedDatabaseSettings() throws -> PostgresSettings? {
    guard var settings = try databaseSettings() else { return nil }
    if arguments.isDeclared("seal-key"), let file = arguments.value("seal-key") {
      settings.sealKeys = try arguments.locating("seal-key") { try SealKeys(file: file) }
    }
    return settings
  }

  /// The value of an option with the address of a database. An address in a file must not have a password, because files are
  /// copied and shared more widely than secrets.
  func databaseAddress(_ name: String) throws -> String? {
    guard let url = arguments.value(name) else { return nil }
    if arguments.place(name) != nil, PostgresSettings.hasPassword(url) {
      throw arguments.mistake(
        "\(name) contains a password", about: name, hint: "store the password in ~/.pgpass, or set PGPASSWORD")
    }
    return url
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
    if isJSON {
      // With a closed standard error only the exit code reports the error.
      try? messages.write(report.json())
      try? messages.flush()
    } else {
      line(report.text(for: messages.terminal))
    }
    exit(report.exitCode.rawValue)
  }
}
