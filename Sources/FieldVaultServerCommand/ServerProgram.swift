import CipherSQL
import CommandLineKit
import FileServer
import HTTPServer
import PostgresStorage
import ShippedSchemas
import SyncModel
import SyncServer

/// The whole command line, from which parsing, help and completions come.
enum ServerProgram {
  static let version = "0.3.0"

  static let program = Program(
    name: "fieldvault-server", version: version,
    summary: "sync server for field devices",
    options: [
      .flag("json", "print one JSON document on standard output", isSetting: false),
      .flag("quiet", short: "q", "print no requests and no hints"),
      .flag("no-color", "disable colours", isSetting: false),
    ],
    commands: [
      serve, config, user, account, token, audit, backup, restore, verify, migrate, epoch, sealKey,
      .completions(group: "Other"),
      .manual(group: "Other"),
      .version(group: "Other"),
    ],
    examples: [
      Example("fieldvault-server user add ada --account water --data /srv/fieldvault", "add ada and print the token"),
      Example("fieldvault-server serve --data /srv/fieldvault --schema restoration", "serve on 127.0.0.1:8787"),
    ],
    exitCodes: codes + [busy, refused])

  private static let busy = ExitCode(6, "busy: another server uses the folder")
  static let refused = ExitCode(10, "refused: the name exists, or a schema does not fit")
  static let codes: [ExitCode] = [
    .done, .failed, .usage, .locked, ExitCode(4, "no such folder, user or token"), .damaged, .interrupted,
  ]

  /// The command whose options are the settings of a configuration file.
  static let configuredCommand = ["serve"]

  private static let dataOption = OptionDescription.value(
    "data", "DIR", "the data folder of the server", completion: .folder)
  private static let databaseOption = OptionDescription.value(
    "database", "URL", "the PostgreSQL database of the server in place of a folder, postgresql://USER@HOST/NAME")
  private static let keyOption = OptionDescription.value(
    "key-file", "FILE", "the key of the data, in place of server.key in the data folder", completion: .file,
    variable: "FIELDVAULT_SERVER_KEY_FILE")
  private static let configOption = OptionDescription.value(
    "config", "FILE", "a file with settings of 'serve', for options that are not given", completion: .file,
    variable: "FIELDVAULT_SERVER_CONFIG", isSetting: false)
  private static let schemaOption = OptionDescription.value(
    "schema", "NAME_OR_FOLDER", "restoration, range, receipts, or a folder of SQL files", repetition: .list,
    completion: .folder, names: Schema.shipped.map(\.name))
  private static let folderOptions = [dataOption, keyOption, configOption]
  /// Either of the two that name the data.
  static let sourceOptions = [dataOption, keyOption, databaseOption, configOption]
  static let oneSource = [Choice("data", "database")]

  private static let serve = CommandDescription(
    "serve", group: "Server", summary: "serve devices until stopped",
    discussion: """
      The data are in a folder, which one server uses, or in a PostgreSQL database, which several servers use as nodes; \
      files are in an object store then. The data keep their schemas; if none is given the first time, all shipped \
      schemas are served. A password of the database comes from PGPASSWORD or ~/.pgpass. SIGTERM and \
      SIGINT finish requests in flight and exit with 0; a second signal exits immediately.

      A value comes from the command line, an environment variable, the configuration file or the default, in this order. \
      The file has an option of this command as NAME = VALUE in each line, and relative paths in it are relative to its \
      folder; 'config example' prints one. SIGHUP reads the file, the certificate and the keys of the identity provider again. Changes of reloadable options take \
      effect at once, and others are reported.
      """,
    options: sourceOptions + [
      .flag("check", "check the settings and the data, print the settings, and change nothing", isSetting: false),
      .value("database-listen", "URL", "the address for notifications, if --database is the address of a pooler"),
      .flag("database-pooled", "the database is reached through a pooler in transaction mode, such as PgBouncer"),
      .value(
        "database-connections", "N", "the maximum number of connections to the database",
        default: "\(usualDatabase.connections)"),
      sealKeyOption,
      .value("listen", "HOST:PORT", "the address to listen on; port 0 selects a free port", default: "127.0.0.1:8787"),
      schemaOption,
      .value(
        "tls-cert", "FILE", "the certificate in PEM format; enables TLS", completion: .file, isReloadable: true),
      .value(
        "tls-key", "FILE", "the private key of the certificate in PEM format", completion: .file,
        variable: "FIELDVAULT_SERVER_TLS_KEY", isReloadable: true),
      .value(
        "public-url", "URL", "the public URL of the server for upload addresses (default: relative paths)"),
      .value("retention-days", "N", "how long responses and deletions are kept", default: "90"),
      .value("max-body", "BYTES", "the maximum size of a request body", default: "\(usual.http.bodyBytes)"),
      .value(
        "rate", "N", "sustained requests per second of one user; five times as many for files",
        default: "\(usual.requestsPerSecond)", isReloadable: true),
      .value(
        "max-connections", "N", "the maximum number of connections, within the limit of open files",
        default: "\(usual.http.connections)"),
      .value(
        "max-connections-per-address", "N", "the maximum number from one address, such as that of a proxy",
        default: "\(usual.http.connectionsPerAddress)"),
      .value(
        "max-waiting", "N", "the maximum number of requests that wait for a change", default: "\(usual.waiters)",
        isReloadable: true),
      .value(
        "max-waiting-per-user", "N", "the maximum number of one user", default: "\(usual.waitersPerUser)",
        isReloadable: true),
      .value(
        "open-accounts", "N", "how many accounts stay open for a minute after a request: ten files, 10 to 20 MiB each",
        default: "\(usual.openAccounts)"),
      .value("max-file", "BYTES", "the maximum size of a file", default: "\(usual.files.fileBytes)"),
      .value("quota", "BYTES", "the storage for the files of one user", default: "\(usual.files.quotaBytes)"),
      .value(
        "upload-days", "N", "how long an inactive upload is kept", default: "\(usual.files.uploadSeconds / 86_400)"),
    ] + objectStoreOptions + [
      .value(
        "admin-listen", "HOST:PORT",
        "an address for the operator, without tokens and TLS: /metrics, /v1/health, /v1/ready (default: none)"),
      .value(
        "log-format", "FORMAT", "the form of the log: text, or json with request, account and device",
        default: RequestLog.Format.text.rawValue, allowed: RequestLog.Format.allCases.map(\.rawValue)),
      .value("slow-request-ms", "N", "the duration from which a request is logged as slow (default: no limit)"),
      .value("notify-url", "URL", "a webhook that is told which devices of an account should sync"),
      .value(
        "notify-key", "FILE", "a file of mode 0600 with the key that signs calls of the webhook, 16 bytes or more",
        completion: .file, variable: "FIELDVAULT_SERVER_NOTIFY_KEY"),
    ] + signInOptions,
    choices: oneSource,
    examples: [
      Example("fieldvault-server serve --config /etc/fieldvault/server.conf --check", "check a configuration file"),
      Example("fieldvault-server serve --data data --schema restoration", "listen on 127.0.0.1:8787"),
      Example(
        "fieldvault-server serve --data data --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem",
        "listen on all interfaces with TLS"),
      Example(
        "fieldvault-server serve --data data --s3-endpoint https://s3.eu-central-1.amazonaws.com --s3-bucket photos "
          + "--s3-region eu-central-1 --s3-credentials s3.key", "store files in an object store"),
      Example(
        "fieldvault-server serve --database postgresql://fieldvault@db.example.org/fieldvault --s3-endpoint "
          + "https://s3.eu-central-1.amazonaws.com --s3-bucket photos --s3-credentials s3.key",
        "serve as one of several nodes on a PostgreSQL database"),
    ],
    exitCodes: codes + [busy, refused])

  /// The object store of the servers.
  static let objectStoreOptions: [OptionDescription] = [
    .value(
      "s3-endpoint", "URL", "an object store (S3) for files, accessed at addresses that the server signs"),
    .value("s3-bucket", "NAME", "the bucket in the object store"),
    .value(
      "s3-credentials", "FILE", "a file of mode 0600 with two lines: the access key id and the secret access key",
      completion: .file, variable: "FIELDVAULT_SERVER_S3_CREDENTIALS"),
    .value("s3-region", "R", "the region of the bucket", default: "us-east-1"),
    .value(
      "s3-address-seconds", "N", "how long a signed address is valid",
      default: "\(ObjectStore.usualAddressSeconds)"),
    .value(
      "s3-type", "TYPE", "a media type permitted in the object store, such as image/jpeg or image/*",
      repetition: .list),
  ]

  private static let usual = ServerLimits()
  private static let usualDatabase = PostgresSettings(url: "")

  private static let config = CommandDescription(
    "config", group: "Server", summary: "help with configuration files", exitCodes: codes,
    subcommands: [
      CommandDescription(
        "example", summary: "print a configuration file with every setting and its default, as comments",
        examples: [Example("fieldvault-server config example > server.conf", "")])
    ])

  private static let user = CommandDescription(
    "user", group: "Users", summary: "manage users",
    subcommands: [
      CommandDescription(
        "add", summary: "add a user and print the token, once",
        discussion: """
          The token is not stored and cannot be shown again. To replace a lost token, revoke it and add another. A \
          running server accepts the new user immediately.
          """,
        arguments: [.required("NAME", "a name, unique on the server")],
        options: sourceOptions + [
          .value("account", "A", "the account of the user; created if it is new (default: default)"),
          roleOption, expiryOption,
          .value("record", "UUID", "the record by which membership records name the user"),
        ],
        choices: oneSource,
        examples: [Example("fieldvault-server user add ada --account water --data data > token", "")],
        exitCodes: codes + [refused]),
      CommandDescription(
        "list", aliases: ["ls"], summary: "list all users", options: sourceOptions, choices: oneSource,
        examples: [Example("fieldvault-server user list --data data --json", "as JSON")], exitCodes: codes),
      CommandDescription(
        "link", summary: "connect a user with the record by which membership records name the user",
        arguments: [.required("NAME", "the name"), .required("UUID", "the record")], options: sourceOptions,
        choices: oneSource,
        examples: [
          Example("fieldvault-server user link ada 0190a5b2-7c3d-7e4f-8a1b-2c3d4e5f6071 --data data", "")
        ], exitCodes: codes),
      CommandDescription(
        "unlink", summary: "disconnect a user from the record", arguments: [.required("NAME", "the name")],
        options: sourceOptions, choices: oneSource,
        examples: [Example("fieldvault-server user unlink ada --data data", "")], exitCodes: codes),
      CommandDescription(
        "revoke", summary: "revoke all tokens of a user, effective immediately",
        arguments: [.required("NAME", "the name")], options: sourceOptions, choices: oneSource,
        examples: [Example("fieldvault-server user revoke ada --data data", "")], exitCodes: codes),
    ])

  private static let roleOption = OptionDescription.value(
    "role", "R", "the role: a device, a service that fills fields, or an admin of the account",
    default: TokenRole.device.rawValue, allowed: TokenRole.allCases.map(\.rawValue))
  private static let expiryOption = OptionDescription.value(
    "expires", "DATE", "when the token expires: the start of a date in UTC, or a time in UTC")

  private static let token = CommandDescription(
    "token", group: "Server", summary: "manage tokens", exitCodes: codes,
    subcommands: [
      CommandDescription(
        "add", summary: "add a token for a user and print it, once",
        discussion: """
          Use a separate token for each device and program, so that a lost token can be revoked alone. The role \
          'service' is for programs that fill fields owned by the server; they never change a field that a user has \
          corrected.
          """,
        arguments: [.required("USER", "the user")],
        options: sourceOptions + [
          roleOption, expiryOption,
          .value("label", "TEXT", "the device or program that uses the token"),
        ],
        choices: oneSource,
        examples: [
          Example("fieldvault-server token add ada --label tablet --data data", ""),
          Example("fieldvault-server token add reader --role service --expires 2027-06-01 --data data", ""),
        ], exitCodes: codes),
      CommandDescription(
        "list", aliases: ["ls"], summary: "list the tokens of a user, or all",
        arguments: [.optional("USER", "the user")], options: sourceOptions, choices: oneSource,
        examples: [Example("fieldvault-server token list ada --data data --json", "as JSON")], exitCodes: codes),
      CommandDescription(
        "revoke", summary: "revoke one token, effective immediately",
        arguments: [.required("ID", "the id of a token from 'token list'")], options: sourceOptions, choices: oneSource,
        examples: [Example("fieldvault-server token revoke 3 --data data", "")], exitCodes: codes),
    ])

  private static let audit = CommandDescription(
    "audit", group: "Users", summary: "show changes of users, tokens and keys, backups and restores",
    exitCodes: codes,
    subcommands: [
      CommandDescription(
        "list", aliases: ["ls"], summary: "list the newest entries of the audit log, oldest first",
        discussion: "Each entry names the user of the system who ran the command. Entries are never removed.",
        options: sourceOptions + [
          .value("since", "DATE", "entries from this time: the start of a date in UTC, or a time in UTC"),
          .value("limit", "N", "the number of entries", default: "100"),
        ],
        choices: oneSource,
        examples: [
          Example("fieldvault-server audit list --data data --since 2026-11-01", "the entries since 1 November")
        ],
        exitCodes: codes)
    ])

  private static let backup = CommandDescription(
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

  private static let restore = CommandDescription(
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

  private static let verify = CommandDescription(
    "verify", group: "Data", summary: "verify every database and file of the data folder",
    options: folderOptions,
    examples: [Example("fieldvault-server verify --data data --json", "as JSON")], exitCodes: codes)

  private static let migrate = CommandDescription(
    "migrate", group: "Data", summary: "apply the schema files of this program to all accounts, or try them",
    discussion: """
      A server does the same at the first request of an account. With --dry-run, the files are applied to copies, also while \
      a server runs, and nothing is changed: run it before an upgrade. The largest account must fit the disk once more. \
      Otherwise the server has to be stopped. An account whose records do not fit a file is named, and the others are migrated.
      """,
    options: folderOptions + [.flag("dry-run", "try the files on copies"), schemaOption],
    examples: [
      Example("fieldvault-server migrate --dry-run --data data --schema ./company", "try new files of a schema")
    ],
    exitCodes: codes + [busy, .noSpace, refused])

  private static let epoch = CommandDescription(
    "epoch", group: "Data", summary: "manage the epoch of the data", exitCodes: codes,
    subcommands: [
      CommandDescription(
        "new", summary: "start a new epoch after restoring the data with other tools",
        discussion: "Run it before the server starts. Devices then compare all records and resend missing changes.",
        options: sourceOptions, choices: oneSource,
        examples: [Example("fieldvault-server epoch new --data data", "")],
        exitCodes: codes + [busy])
    ])

  static let sealKeyOption = OptionDescription.value(
    "seal-key", "FILE",
    "a file of mode 0600 with the keys under which the values of records are sealed in the PostgreSQL database",
    completion: .file, variable: "FIELDVAULT_SERVER_SEAL_KEY")

  private static let sealKey = CommandDescription(
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
