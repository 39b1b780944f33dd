import CipherSQL
import CommandLineKit
import VaultStore
import RangeModel
import ReceiptsModel
import RestorationModel
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The context of every command: its arguments, its output, and access to the vault.
final class CommandContext {
  let arguments: ParsedArguments
  /// Standard output, or the pager in front of it.
  private(set) var output: Output
  private var pager: Pager?
  /// Messages, hints and progress, on standard error.
  let messages: Output
  let isJSON: Bool
  let isQuiet: Bool
  /// The exit code without an error.
  var exitCode = ExitCode.done
  private var hints: [String] = []

  init(_ arguments: ParsedArguments) {
    self.arguments = arguments
    let hasFormat = arguments.request == .run && ["list", "query"].contains(arguments.command)
    isJSON = arguments.flag("json") || hasFormat && arguments.value("format") == "json"
    isQuiet = arguments.flag("quiet")
    let noColor = arguments.flag("no-color")
    output = Output(descriptor: STDOUT_FILENO, terminal: Terminal(descriptor: STDOUT_FILENO, noColor: noColor))
    messages = Output(descriptor: STDERR_FILENO, terminal: Terminal(descriptor: STDERR_FILENO, noColor: noColor))
  }

  /// The schemas that this program carries.
  static let shippedSchemas: [Schema] = [RestorationSchema.schema, RangeSchema.schema, ReceiptsSchema.schema]

  /// The schemas of `--schema`.
  func namedSchemas() throws -> [(source: SchemaSource, schema: Schema)] {
    try arguments.values("schema").map(Self.schema)
  }

  /// A schema that the program carries, or a folder.
  private static func schema(_ word: String) throws -> (source: SchemaSource, schema: Schema) {
    if let shipped = shippedSchemas.first(where: { $0.name == word }) {
      return (SchemaSource(name: word, folder: nil), shipped)
    }
    guard FileSystem.isFolder(word) else {
      let names = shippedSchemas.map(\.name)
      throw VaultError(
        .noSuchEntity, "'\(word)' is neither a shipped schema (\(names.joined(separator: ", "))) nor a folder",
        hint: "give the path of a folder that contains NNNN_name.sql files", name: word, candidates: names)
    }
    let folder = FileSystem.absolute(word)
    let schema = try Schema.loadOwn(folder: folder)
    return (SchemaSource(name: schema.name, folder: folder), schema)
  }

  /// The path of the vault.
  func vaultPath() throws -> String {
    if let path = arguments.value("vault") ?? Terminal.variable("FIELDVAULT_VAULT"), !path.isEmpty { return path }
    throw arguments.mistake(
      "no vault given", hint: "use --vault PATH or set FIELDVAULT_VAULT")
  }

  /// Opens the vault.
  /// - Parameters:
  ///   - secret: the secret, if it is known already.
  ///   - needsRootKey: whether the command changes slots or keys or writes a backup. The key agent has no root key.
  ///   - adding: schemas to add to the vault.
  ///   - separatingReads: whether reads and writes have connections of their own: for a command that reads while it writes, or
  ///     that writes much, for which a large page cache is useless. Other commands need one connection only, which saves the
  ///     parsing of the schema for another one.
  func openVault(
    outdated: Vault.OutdatedSchema = .refuse, with secret: UnlockSecret? = nil,
    needsRootKey: Bool = false, adding: [(source: SchemaSource, schema: Schema)] = [], separatingReads: Bool = false
  ) throws -> Vault {
    let path = try vaultPath()
    _ = try Vault.existing(path)
    var configuration = try configuration()
    if !separatingReads { configuration.readerCount = 0 }
    let vault =
      if secret == nil, !needsRootKey, let session = try agentSession() {
        try Vault.open(
          at: path, with: session, schemas: Self.shippedSchemas, adding: adding, outdated: outdated,
          configuration: configuration)
      } else {
        try Vault.open(
          at: path, with: try secret ?? self.secret(), schemas: Self.shippedSchemas, adding: adding, outdated: outdated,
          configuration: configuration)
      }
    opened = vault
    return vault
  }

  /// The vault of this command, for as long as anything uses it.
  private weak var opened: Vault?

  /// Closes a vault that a cancelled task of sync still uses at the end of the command, and waits a moment for it.
  /// Otherwise the write-ahead log would remain after the process ends.
  func closeVault() {
    opened?.close()
    for _ in 0..<1000 where Connection.openCount > 0 { usleep(2000) }
  }

  /// The value of FIELDVAULT_PAGE_CACHE: the MiB of decrypted pages that each connection keeps.
  private func configuration() throws -> Configuration {
    var configuration = Configuration()
    guard let text = Terminal.variable("FIELDVAULT_PAGE_CACHE"), !text.isEmpty else { return configuration }
    guard let size = Int(text), (1...65_536).contains(size) else {
      throw arguments.mistake("FIELDVAULT_PAGE_CACHE must be a whole number of MiB from 1 to 65536")
    }
    configuration.pageCacheBytes = size << 20
    configuration.writerPageCacheBytes = configuration.pageCacheBytes
    return configuration
  }

  /// Prints a hint if the page cache was too small for the work of a connection.
  func adviseOnCache(_ connection: Connection) throws {
    guard let advice = try connection.cacheUse().advice else { return }
    hint(advice + " (FIELDVAULT_PAGE_CACHE=MiB)")
  }

  /// Writes the one JSON document of the command.
  func writeJSON(_ body: (inout JSONWriter) throws -> Void) throws {
    var json = JSONWriter(for: output)
    try body(&json)
    json.endDocument()
    try json.drain(to: output)
  }

  /// Writes additional information for the user after the result, and nothing if output is not expected.
  func hint(_ text: String) { hints.append(text) }

  /// Writes the current activity for the user at once.
  func note(_ text: String) {
    guard !isQuiet else { return }
    // With a closed standard error the text has no reader.
    try? messages.line(messages.terminal.styled(escaped(text), .dim))
    try? messages.flush()
  }

  /// Shows the rest of the output in a pager if it is a terminal and a pager is installed.
  func startPager() {
    guard pager == nil, !arguments.flag("no-pager"), let started = Pager(for: output.terminal) else { return }
    pager = started
    output = started.output
  }

  /// Waits until the user leaves the pager.
  private func endPager() {
    guard let pager else { return }
    self.pager = nil
    pager.finish()
    output = Output(descriptor: STDOUT_FILENO, terminal: output.terminal)
  }

  /// Brings the result out, and then the hints.
  func finish() throws {
    try output.flush()
    endPager()
    for hint in hints { note(hint) }
    hints = []
  }

  /// Writes a line of the result for users, and nothing with `--json`.
  func tell(_ text: String) throws {
    if isJSON || isQuiet { return }
    try output.line(escaped(text))
  }

  /// Reports an error and ends.
  func report(_ error: any Error) -> Never {
    closeVault()
    let report = ErrorReport(error)
    if report.isSilent { endPager() }
    if !report.isSilent {
      // Output before the error is written before it. If the reader has closed the pipe, the exit code reports the
      // error.
      try? finish()
      if isJSON { try? messages.write(report.json()) } else { try? messages.line(report.text(for: messages.terminal)) }
      try? messages.flush()
    }
    exit(report.exitCode.rawValue)
  }
}

extension CommandContext {
  /// Whether a user can read a question at the terminal and confirm it.
  var canAsk: Bool { messages.terminal.isTerminal && isatty(STDIN_FILENO) == 1 }

  /// Asks a question. Every input except yes means no.
  func confirms(_ question: String) throws -> Bool {
    try messages.write("\(question) [y/N] ")
    try messages.flush()
    let input = readLine()?.lowercased() ?? ""
    return input == "y" || input == "yes"
  }
}

/// The little that commands ask the file system themselves.
enum FileSystem {
  static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The path from the root; the path itself where it cannot be made out.
  static func absolute(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
