import CommandLineKit
import SyncModel

/// The description of the command line, used by parsing, help and completions.
enum FieldVaultProgram {
  static let version = ProductVersion.current

  static let program = Program(
    name: "fieldvault", version: version,
    summary: "stores field records encrypted on this machine and syncs them with a server",
    options: [
      .value(
        "vault", "PATH", "the folder of the vault (default: FIELDVAULT_VAULT)", completion: .folder),
      .value(
        "passphrase-file", "FILE", "unlock with the first line of FILE; - is standard input", completion: .file),
      .value("passphrase-command", "CMD", "unlock with the first line that a shell command prints"),
      .value("key-file", "FILE", "unlock with a key file", completion: .file),
      .value("recovery-file", "FILE", "unlock with the recovery code in FILE", completion: .file),
      .flag("system", "unlock with the secret stored by the operating system"),
      .flag("json", "print one JSON document on standard output; an error as an object on standard error"),
      .flag("quiet", short: "q", "print no progress and no hints"),
      .flag("no-color", "disable colours"),
      .flag("no-pager", "do not show long tables page by page"),
    ],
    choices: [Choice("passphrase-file", "passphrase-command", "key-file", "recovery-file", "system")],
    commands: entries.map(\.description),
    examples: [
      Example("fieldvault init --schema restoration --vault job.vault", "create a vault; prompts for a passphrase"),
      Example("fieldvault put Project title='14 Elm Street' --vault job.vault", "create a record"),
      Example("fieldvault list Project --vault job.vault", "list the records"),
    ])

  /// All commands, in the order of the help.
  private static let entries: [ProgramEntry] = [
    .command(InitCommand.self),
    .group(schemaGroup, [SchemaNewCommand.self]),
    .group(migrateGroup, [MigrateStatusCommand.self, MigrateApplyCommand.self, MigrateVerifyCommand.self]),
    .command(BackupCommand.self),
    .command(RestoreCommand.self),
    .command(DoctorCommand.self),
    .command(ShellCommand.self),
    .group(
      keyGroup,
      [
        KeyListCommand.self, KeyAddCommand.self, KeyRemoveCommand.self, KeyPassphraseCommand.self,
        KeyRotateCommand.self, KeyExportCommand.self,
      ]),
    .command(UnlockCommand.self),
    .command(LockCommand.self),
    .command(KeyAgentCommand.self),
    .command(PutCommand.self),
    .command(GetCommand.self),
    .command(ListCommand.self),
    .command(DeleteCommand.self),
    .command(UndeleteCommand.self),
    .command(PurgeCommand.self),
    .command(ImportCommand.self),
    .command(ExportCommand.self),
    .group(
      attachGroup,
      [
        AttachAddCommand.self, AttachListCommand.self, AttachExportCommand.self, AttachRemoveCommand.self,
        AttachVerifyCommand.self, AttachRetryCommand.self,
      ]),
    .command(QueryCommand.self),
    .command(SearchCommand.self),
    .command(DescribeCommand.self),
    .command(InspectCommand.self),
    .command(SyncCommand.self),
    .command(StatusCommand.self),
    .command(WhyCommand.self),
    .command(HistoryCommand.self),
    .command(TraceCommand.self),
    .group(remoteGroup, [RemoteSetCommand.self, RemoteShowCommand.self, RemoteUnsetCommand.self]),
    .command(LogoutCommand.self),
    .group(accountGroup, [AccountExportCommand.self, AccountDeleteCommand.self]),
    .group(configGroup, [ConfigListCommand.self, ConfigGetCommand.self, ConfigSetCommand.self]),
    .group(
      outboxGroup, [OutboxListCommand.self, OutboxShowCommand.self, OutboxRetryCommand.self, OutboxDiscardCommand.self]),
    .group(conflictsGroup, [ConflictListCommand.self, ConflictShowCommand.self, ConflictResolveCommand.self]),
    .command(CompletionsCommand.self),
    .command(CompleteCommand.self),
    .command(ManualCommand.self),
    .command(VersionCommand.self),
  ]

  private static let schemaGroup = CommandDescription(
    "schema", group: "Vault", summary: "write a schema of your own", exitCodes: [.done, .failed, .usage])

  private static let migrateGroup = CommandDescription(
    "migrate", group: "Vault", summary: "show, apply and verify schema versions",
    exitCodes: usualExitCodes, defaultSubcommand: "status")

  private static let keyGroup = CommandDescription(
    "key", group: "Keys", summary: "manage the slots that unlock the vault, and its database key",
    discussion: """
      Each slot opens the same vault with a passphrase, a key file, a recovery code or a secret that the operating \
      system stores. Changing a slot takes effect immediately and does not change the database. 'rotate' re-encrypts \
      the database with a new key.
      """,
    exitCodes: usualExitCodes, defaultSubcommand: "list")

  private static let attachGroup = CommandDescription(
    "attach", aliases: ["attachments"], group: "Records",
    summary: "manage photos and files, each encrypted with its own key",
    exitCodes: usualExitCodes, defaultSubcommand: "list")

  private static let remoteGroup = CommandDescription(
    "remote", group: "Sync", summary: "manage the connection to the server", exitCodes: usualExitCodes,
    defaultSubcommand: "show")

  private static let accountGroup = CommandDescription(
    "account", group: "Sync", summary: "export or delete all data of the account on the server",
    exitCodes: usualExitCodes)

  private static let configGroup = CommandDescription(
    "config", group: "Sync", summary: "show and change settings", exitCodes: usualExitCodes, defaultSubcommand: "list")

  private static let outboxGroup = CommandDescription(
    "outbox", aliases: ["queue"], group: "Sync", summary: "manage operations that the server has not acknowledged",
    exitCodes: usualExitCodes, defaultSubcommand: "list")

  private static let conflictsGroup = CommandDescription(
    "conflicts", aliases: ["conflict"], group: "Sync", summary: "list and resolve conflicts",
    exitCodes: usualExitCodes, defaultSubcommand: "list")

  /// The commands by their words, such as `outbox list`.
  static let commands: [String: any ProgramCommand.Type] = Dictionary(
    uniqueKeysWithValues: entries.flatMap(\.commands))
}
