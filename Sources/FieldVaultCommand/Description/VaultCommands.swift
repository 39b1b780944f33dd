import CommandLineKit

extension FieldVaultProgram {
  static let vaultCommands: [CommandDescription] = [
    CommandDescription(
      "init", group: "Vault", summary: "make a vault",
      discussion: """
        A vault is a folder: the encrypted database, its keyring, the encrypted files. It appears whole or not at all. \
        The passphrase is asked for twice, or is the first line of --passphrase-file. There is no way to read a vault \
        whose passphrase is lost.
        """,
      options: [
        .value(
          "schema", "NAME_OR_FOLDER", "restoration, range, receipts, or a folder of SQL files; may be repeated",
          repetition: .list, required: true, completion: .folder)
      ],
      examples: [
        Example("fieldvault init --schema restoration --vault job.vault", "a vault for restoration projects"),
        Example("fieldvault init --schema range --vault range.vault", "a vault for sessions at the shooting range"),
        Example("fieldvault init --schema receipts --vault home.vault", "a vault for receipts and warranties"),
        Example("fieldvault init --schema ./Schema --vault mine.vault", "a vault with tables of one's own"),
      ],
      exitCodes: usual + [.noSpace, .refused]),
    CommandDescription(
      "migrate", group: "Vault", summary: "the versions of the vault's tables",
      exitCodes: usual,
      subcommands: [
        CommandDescription(
          "status", summary: "which files have been applied, and which wait",
          examples: [Example("fieldvault migrate status --json", "the same for a program")], exitCodes: usual),
        CommandDescription(
          "apply", summary: "apply the files that wait, each in one transaction",
          discussion: "A file that fails leaves the vault as the file before it left it.",
          options: [
            .value(
              "schema", "NAME_OR_FOLDER", "tables that the vault is to get beside those that it has; may be repeated",
              repetition: .list, completion: .folder)
          ],
          examples: [
            Example("fieldvault migrate apply", "bring the vault up to date"),
            Example("fieldvault migrate apply --schema ./More", "the tables of another folder as well"),
          ],
          exitCodes: usual + [.noSpace, .refused]),
        CommandDescription(
          "verify", summary: "rebuild the tables from the files in memory and show every difference",
          examples: [Example("fieldvault migrate verify", "was a table changed by hand?")],
          exitCodes: usual + [.refused]),
      ]),
    CommandDescription(
      "backup", group: "Vault", summary: "the whole vault as one encrypted file, while it is in use",
      discussion: """
        The file is of one moment, holds the database, the keyring and the encrypted files, and opens with the slots \
        that the vault has at that moment, whatever is changed later. An older backup of that name is replaced when \
        the new one is whole; nothing else is overwritten. For a schedule: --quiet, and the exit code.
        """,
      arguments: [.required("FILE", "the backup to write", completion: .file)],
      examples: [Example("fieldvault backup --quiet /mnt/stick/job.backup", "every evening, from cron")],
      exitCodes: usual + [.noSpace]),
    CommandDescription(
      "restore", group: "Vault", summary: "a vault from a backup",
      discussion: """
        Makes the folder of --vault, which must not exist. It appears when everything in the backup has been verified. \
        The backup is unlocked with a secret of the time when it was made.
        """,
      arguments: [.required("FILE", "the backup", completion: .file)],
      examples: [Example("fieldvault restore /mnt/stick/job.backup --vault job.vault", "onto a new machine")],
      exitCodes: usual + [.noSpace]),
    CommandDescription(
      "doctor", group: "Vault", summary: "check the vault, and mend what can be mended",
      discussion: """
        Checks the keyring, every page of the database, its tables, indexes, references and full-text search, its \
        schema, and the files around it. It works on a vault that cannot be opened as well, and others may go on using \
        the vault. Each finding says what it means and what to do next. Ends with 0 when all is well, with 5 when a \
        file is damaged, with 1 when something else needs a person. --repair removes leftovers of interrupted work and \
        mends permissions, indexes, full-text search and derived triggers, in the database only after it has worked on \
        a copy. Where pages are damaged it saves every record that can be read into a new vault, NAME.salvaged.vault, \
        and leaves the damaged one as it is.
        """,
      options: [.flag("repair", "mend what can be mended without losing anything")],
      examples: [
        Example("fieldvault doctor", "is all well?"),
        Example("fieldvault doctor --repair --json", "for a program that looks after vaults"),
      ],
      exitCodes: usual + [.noSpace]),
    CommandDescription(
      "shell", group: "Vault", summary: "the sqlcipher shell on the open vault",
      discussion: """
        Starts the real shell, read and write. The key goes to it through a pipe: it stands in no argument, no \
        environment, no history and no file. Writes made there pass the same rules and triggers as any other, and \
        statements that 'query --write' refuses are refused there too, except BEGIN, COMMIT and SAVEPOINT.
        """,
      options: [.value("command", "SQL", short: "c", "run this and end", completion: .none)],
      examples: [
        Example("fieldvault shell", "look around"),
        Example("fieldvault shell --command 'SELECT * FROM entities'", "one question"),
      ],
      exitCodes: usual),
  ]
}
