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
    commands: vaultCommands + keyCommands + recordCommands + attachCommands + questionCommands + syncCommands
      + outboxCommands + otherCommands,
    examples: [
      Example("fieldvault init --schema restoration --vault job.vault", "make a vault; asks for a passphrase"),
      Example("fieldvault put Project title='14 Elm Street' --vault job.vault", "record something"),
      Example("fieldvault list Project --vault job.vault", "look at it"),
    ])

  static let entityArgument = ArgumentDescription.required(
    "ENTITY", "the entity type (AtmosphericLog) or its table (OfflineAtmosphericLog)")
  static let usual: [ExitCode] = [.done, .failed, .usage, .locked, .notFound, .damaged, .busy]
}
