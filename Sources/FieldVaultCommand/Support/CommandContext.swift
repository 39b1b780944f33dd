import CipherSQL
import CommandLineSupport
import OfflineStore
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

/// What every command works with: its arguments, where its output goes, and the way to the vault.
final class CommandContext {
  let arguments: ParsedArguments
  let output: Output
  let people: Output
  let isJSON: Bool
  let isQuiet: Bool
  /// What the program ends with when nothing is thrown.
  var exitCode = ExitCode.done
  private var hints: [String] = []

  init(_ arguments: ParsedArguments) {
    self.arguments = arguments
    isJSON = arguments.flag("json")
    isQuiet = arguments.flag("quiet")
    let noColor = arguments.flag("no-color")
    output = Output(descriptor: STDOUT_FILENO, terminal: Terminal(descriptor: STDOUT_FILENO, noColor: noColor))
    people = Output(descriptor: STDERR_FILENO, terminal: Terminal(descriptor: STDERR_FILENO, noColor: noColor))
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
        .noSuchEntity, "'\(word)' is neither a schema that ships (\(names.joined(separator: ", "))) nor a folder",
        hint: "give the path of a folder with NNNN_name.sql files", name: word, candidates: names)
    }
    let folder = FileSystem.absolute(word)
    let schema = try Schema.loadOwn(folder: folder)
    return (SchemaSource(name: schema.name, folder: folder), schema)
  }

  /// The path of the vault.
  func vaultPath() throws -> String {
    if let path = arguments.value("vault") ?? Terminal.variable("FIELDVAULT_VAULT"), !path.isEmpty { return path }
    throw arguments.mistake(
      "no vault is named", hint: "give --vault PATH, or set FIELDVAULT_VAULT")
  }

  /// Opens the vault.
  /// - Parameters:
  ///   - secret: what opens it, where that is known already.
  ///   - adding: schemas that the vault gets.
  func openVault(
    outdated: Vault.OutdatedSchema = .refuse, with secret: UnlockSecret? = nil,
    adding: [(source: SchemaSource, schema: Schema)] = []
  ) throws -> Vault {
    let path = try vaultPath()
    _ = try Vault.existing(path)
    let vault = try Vault.open(
      at: path, with: try secret ?? self.secret(), schemas: Self.shippedSchemas, adding: adding, outdated: outdated,
      configuration: try configuration())
    opened = vault
    return vault
  }

  /// The vault of this command, for as long as anything uses it.
  private weak var opened: Vault?

  /// Closes a vault that something still holds at the end of the command, such as a task of sync that was cancelled and
  /// has not noticed yet, and waits a moment for those that close at this instant on another thread: the process ends
  /// without asking them, and would leave the write-ahead log behind.
  func closeVault() {
    opened?.close()
    for _ in 0..<1000 where Connection.openCount > 0 { usleep(2000) }
  }

  /// FIELDVAULT_PAGE_CACHE says how many MiB each connection keeps of the pages that it has decrypted.
  private func configuration() throws -> Configuration {
    var configuration = Configuration()
    guard let text = Terminal.variable("FIELDVAULT_PAGE_CACHE"), !text.isEmpty else { return configuration }
    guard let size = Int(text), (1...65_536).contains(size) else {
      throw arguments.mistake("FIELDVAULT_PAGE_CACHE is a whole number of MiB, 1 to 65536")
    }
    configuration.pageCacheBytes = size << 20
    configuration.writerPageCacheBytes = configuration.pageCacheBytes
    return configuration
  }

  /// Tells people when the page cache was too small for what a connection just did.
  func adviseOnCache(_ connection: Connection) throws {
    guard let advice = try connection.cacheUse().advice else { return }
    hint(advice + " (FIELDVAULT_PAGE_CACHE=MiB)")
  }

  /// The secret that opens the vault, from where the options or the variables say; else what the system keeps for it;
  /// else from a prompt.
  func secret() throws -> UnlockSecret { try secret { try Vault.keyring(at: try self.vaultPath()) } }

  /// The same for something else than the vault that is named.
  /// - Parameter keyring: what the secret opens.
  func secret(for keyring: () throws -> Keyring) throws -> UnlockSecret {
    if arguments.flag("system") { return try systemSecret(for: try keyring()) }
    return try namedSecret() ?? systemSecretIfAny(for: keyring)
      ?? .passphrase(try SecretSource.terminal(prompt: "Passphrase: ").readPassphrase())
  }

  /// The secret of a new vault.
  func newSecret() throws -> UnlockSecret {
    if arguments.flag("system") {
      throw arguments.mistake(
        "a new vault has no slot that the system could open", about: "system",
        hint: "make it with a passphrase or a key file, then: fieldvault key add system")
    }
    return try namedSecret()
      ?? .passphrase(try SecretSource.terminal(prompt: "New passphrase: ").readPassphrase(isNew: true))
  }

  private func namedSecret() throws -> UnlockSecret? {
    if let file = arguments.value("passphrase-file") { return try passphrase(SecretSource(option: file)) }
    if let file = arguments.value("key-file") { return .keyFile(try KeyFile.read(at: file)) }
    if let file = arguments.value("recovery-file") {
      return .recoveryCode(try SecretSource(option: file).readRecoveryCode())
    }
    if let file = Terminal.variable("FIELDVAULT_PASSPHRASE_FILE"), !file.isEmpty {
      return try passphrase(.file(path: file))
    }
    if let file = Terminal.variable("FIELDVAULT_KEY_FILE"), !file.isEmpty {
      return .keyFile(try KeyFile.read(at: file))
    }
    return nil
  }

  private func passphrase(_ source: SecretSource) throws -> UnlockSecret {
    .passphrase(try source.readPassphrase())
  }

  /// The one JSON document of the command.
  func writeJSON(_ body: (inout JSONWriter) throws -> Void) throws {
    var json = JSONWriter(for: output)
    try body(&json)
    json.endDocument()
    try json.drain(to: output)
  }

  /// Tells people something that they may want to know, behind the result; never where output is expected.
  func hint(_ text: String) { hints.append(text) }

  /// Tells people at once what is being done.
  func note(_ text: String) {
    guard !isQuiet else { return }
    // Where standard error is closed there is nobody to tell.
    try? people.line(people.terminal.styled(escaped(text), .dim))
    try? people.flush()
  }

  /// Brings the result out, and then the hints.
  func finish() throws {
    try output.flush()
    for hint in hints { note(hint) }
    hints = []
  }

  /// A line that is the result for people, and nothing with `--json`.
  func tell(_ text: String) throws {
    if isJSON || isQuiet { return }
    try output.line(escaped(text))
  }

  /// Reports an error and ends.
  func report(_ error: any Error) -> Never {
    closeVault()
    let report = ErrorReport(error)
    if !report.isSilent {
      // What was written before the error belongs before it; where the reader is gone, the exit code tells.
      try? finish()
      try? people.line(report.text(for: people.terminal))
      try? people.flush()
    }
    exit(report.exitCode.rawValue)
  }
}
