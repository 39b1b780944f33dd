import CommandLineKit

/// Backups, checks and changes of the data as a whole.
extension ServerProgram {
  static let backup = CommandDescription(
    "backup", group: "Data", summary: "back up the data, even while the server runs",
    discussion: """
      The backup contains all accounts and their files, and the key of the server unless --key-file is given. Protect \
      it like the data folder. FILE appears only when it is complete; an existing file is not replaced. With --keep, FILE \
      is a folder: the backup gets a name with its time and is read again, and then the oldest ones are removed. Files in \
      an object store are not included.
      """,
    arguments: [.required("FILE", "the backup to write, or a folder of backups")],
    options: folderOptions + [.value("keep", "N", "the number of backups to keep in the folder, with the new one")],
    examples: [
      Example("fieldvault-server backup 2026-11-23.backup --data data", ""),
      Example("fieldvault-server backup /var/backups/fieldvault --keep 14 --data data", "for a schedule"),
    ],
    exitCodes: codes + [busy, .noSpace, refused])

  static let restore = CommandDescription(
    "restore", group: "Data", summary: "restore a backup to a new folder, after verifying it",
    discussion: """
      The restored data starts a new epoch: devices compare all their records and resend changes that the server \
      acknowledged after the backup.
      """,
    arguments: [.required("FILE", "the backup")], options: folderOptions,
    examples: [
      Example("fieldvault-server restore 2026-11-23.backup --data new", "restore to the folder new")
    ],
    exitCodes: codes + [.noSpace, refused])

  static let verify = CommandDescription(
    "verify", group: "Data", summary: "verify every database and file of the data folder",
    options: folderOptions,
    examples: [Example("fieldvault-server verify --data data --json", "as JSON")], exitCodes: codes)

  static let migrate = CommandDescription(
    "migrate", group: "Data", summary: "apply the schema files of this program to all accounts, or try them",
    discussion: """
      A server does the same at the first request of an account. With --dry-run, the files are applied to copies, also while \
      a server runs, and nothing is changed: run it before an upgrade. The largest account must fit the disk once more. \
      Otherwise the server has to be stopped. An account whose records do not fit a file is named, and the others are migrated. \
      A PostgreSQL database is migrated while nodes run, one account after the other, and nodes with older files refuse an account that \
      has new ones. --dry-run locks each account for its trial and rolls back.
      """,
    options: sourceOptions + [.flag("dry-run", "try the files without a change"), schemaOption, sealKeyOption],
    choices: oneSource,
    examples: [
      Example("fieldvault-server migrate --dry-run --data data --schema ./company", "try new files of a schema"),
      Example("fieldvault-server migrate --database postgresql://fieldvault@db/fieldvault", "while nodes run"),
    ],
    exitCodes: codes + [busy, .noSpace, refused])

  static let compact = CommandDescription(
    "compact", group: "Data", summary: "return the free space in the databases of a folder to the file system",
    discussion: """
      Stop the server first. Each database is copied without its free pages, and the verified copy replaces it. The largest \
      database must fit the disk once more. An account whose database is damaged is named, and the others are compacted. Copies that killed \
      commands have left are removed. A PostgreSQL database does this by itself (autovacuum), so that the command has no --database.
      """,
    options: folderOptions,
    examples: [Example("fieldvault-server compact --data data --json", "with the sizes as JSON")],
    exitCodes: codes + [busy, .noSpace])

  static let epoch = CommandDescription(
    "epoch", group: "Data", summary: "manage the epoch of the data", exitCodes: codes,
    subcommands: [
      CommandDescription(
        "new", summary: "start a new epoch after restoring the data with other tools",
        discussion: "Run it before the server starts. Devices then compare all records and resend missing changes.",
        options: sourceOptions, choices: oneSource,
        examples: [Example("fieldvault-server epoch new --data data", "")],
        exitCodes: codes + [busy])
    ])

  static let key = CommandDescription(
    "key", group: "Data", summary: "manage the key of a data folder", exitCodes: codes,
    subcommands: [
      CommandDescription(
        "rotate", summary: "encrypt all databases of the folder under a new key",
        discussion: """
          Stop the server first. Each database is copied, verified and replaced, which requires the space of all databases once more. The \
          new key replaces the content of server.key or of --key-file, and the former key is gone. After a crash, the folder opens \
          with the key in this file; run the command again to complete it. Backups that contain a key keep opening with it. Backups \
          made with --key-file require a copy of the former key. Attachments are not encrypted under this key.
          """,
        options: folderOptions,
        examples: [
          Example("fieldvault-server key rotate --data data", "replace data/server.key"),
          Example("fieldvault-server key rotate --data data --key-file /etc/fieldvault/data.key --json", ""),
        ],
        exitCodes: codes + [busy, .noSpace])
    ])

  static let sealKeyOption = OptionDescription.value(
    "seal-key", "FILE",
    "a file of mode 0600 with the keys under which the values of records are sealed in the PostgreSQL database",
    completion: .file, variable: "FIELDVAULT_SERVER_SEAL_KEY")

  static let sealKey = CommandDescription(
    "seal-key", group: "Data", summary: "manage the keys of sealed values in a PostgreSQL database", exitCodes: codes,
    subcommands: [
      CommandDescription(
        "new", summary: "add a new key as the first line of a file, and print its name",
        discussion: """
          The name is a digest of the key, by which messages tell a key that is missing. Store a copy of the file apart from the \
          database: without it, nobody can read the values of records.
          """,
        arguments: [.required("FILE", "the file, which is created if it is missing")],
        examples: [Example("fieldvault-server seal-key new seal.key", "")], exitCodes: codes),
      CommandDescription(
        "rotate", summary: "wrap the keys of all accounts under the first key of a file",
        discussion: """
          First copy the file with the new key to every node; nodes that run read it again. Afterwards no account needs the \
          other keys of the file. Accounts that are not sealed yet are sealed. The command can be repeated after an error.
          """,
        options: [
          databaseOption, sealKeyOption, configOption,
          .flag("account-keys", "give each account a new key too, and seal its values again"),
        ],
        examples: [
          Example(
            "fieldvault-server seal-key rotate --database postgresql://fieldvault@db/fieldvault --seal-key seal.key", ""
          )
        ],
        exitCodes: codes + [busy]),
    ])
}
