import CommandLineKit

/// The whole command line, from which parsing, help and completions come.
enum FieldVaultProgram {
  static let version = "0.2.0"

  static let program = Program(
    name: "fieldvault", version: version,
    summary: "keeps field records encrypted on this machine, with or without a network",
    options: [
      .value(
        "vault", "PATH", "the vault's folder; FIELDVAULT_VAULT says it for every command", completion: .folder),
      .value(
        "passphrase-file", "FILE", "unlock with the first line of FILE; - is standard input", completion: .file),
      .value("key-file", "FILE", "unlock with a key file", completion: .file),
      .value("recovery-file", "FILE", "unlock with the recovery code in FILE", completion: .file),
      .flag("system", "unlock with the secret that the operating system keeps for the vault"),
      .flag("json", "one JSON document on standard output"),
      .flag("quiet", short: "q", "no progress, no hints"),
      .flag("no-color", "no colours"),
    ],
    choices: [Choice("passphrase-file", "key-file", "recovery-file", "system")],
    commands: entries.map(\.description),
    examples: [
      Example("fieldvault init --schema restoration --vault job.vault", "make a vault; asks for a passphrase"),
      Example("fieldvault put Project title='14 Elm Street' --vault job.vault", "record something"),
      Example("fieldvault list Project --vault job.vault", "look at it"),
    ])

  /// All commands, in the order of the help.
  private static let entries: [ProgramEntry] = [
    .command(InitCommand.self),
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
    .command(SyncCommand.self),
    .command(StatusCommand.self),
    .command(WhyCommand.self),
    .command(HistoryCommand.self),
    .command(TraceCommand.self),
    .group(remoteGroup, [RemoteSetCommand.self, RemoteShowCommand.self, RemoteUnsetCommand.self]),
    .command(LogoutCommand.self),
    .group(configGroup, [ConfigGetCommand.self, ConfigSetCommand.self]),
    .group(
      outboxGroup, [OutboxListCommand.self, OutboxShowCommand.self, OutboxRetryCommand.self, OutboxDiscardCommand.self]),
    .group(conflictsGroup, [ConflictListCommand.self, ConflictShowCommand.self, ConflictResolveCommand.self]),
    .command(CompletionsCommand.self),
    .command(VersionCommand.self),
  ]

  private static let migrateGroup = CommandDescription(
    "migrate", group: "Vault", summary: "the versions of the vault's tables",
    exitCodes: usualExitCodes)

  private static let keyGroup = CommandDescription(
    "key", group: "Keys", summary: "the ways to unlock the vault, and the key of its database",
    discussion: """
      Each slot opens the same vault: a passphrase, a key file, a recovery code or a secret that the \
      operating system keeps. Changing a slot is done at once and leaves the database as it is. 'rotate' writes the database anew under a new key.
      """,
    exitCodes: usualExitCodes)

  private static let attachGroup = CommandDescription(
    "attach", aliases: ["attachments"], group: "Records",
    summary: "photos and files, each encrypted under a key of its own",
    exitCodes: usualExitCodes)

  private static let remoteGroup = CommandDescription(
    "remote", group: "Sync", summary: "the server", exitCodes: usualExitCodes)

  private static let configGroup = CommandDescription(
    "config", group: "Sync", summary: "the settings of the vault", exitCodes: usualExitCodes)

  private static let outboxGroup = CommandDescription(
    "outbox", aliases: ["queue"], group: "Sync", summary: "operations that wait for the server",
    exitCodes: usualExitCodes)

  private static let conflictsGroup = CommandDescription(
    "conflicts", aliases: ["conflict"], group: "Sync", summary: "conflicts that need a decision",
    exitCodes: usualExitCodes)

  /// The commands by their words, such as `outbox list`.
  static let commands: [String: any ProgramCommand.Type] = Dictionary(
    uniqueKeysWithValues: entries.flatMap(\.commands))
}
