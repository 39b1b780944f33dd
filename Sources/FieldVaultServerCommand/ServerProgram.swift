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
  static let version = ProductVersion.current

  static let program = Program(
    name: "fieldvault-server", version: version,
    summary: "sync server for field devices",
    options: [
      .flag(
        "json", "print one JSON document on standard output; an error as an object on standard error",
        isSetting: false),
      .flag("quiet", short: "q", "print no requests and no hints"),
      .flag("no-color", "disable colours", isSetting: false),
    ],
    commands: [
      serve, config, user, account, token, device, audit, inspect, backup, restore, verify, migrate, epoch, key,
      compact,
      sealKey,
      .completions(group: "Other"),
      .manual(group: "Other"),
      .version(group: "Other"),
    ],
    examples: [
      Example("fieldvault-server user add ada --account water --data /srv/fieldvault", "add ada and print the token"),
      Example("fieldvault-server serve --data /srv/fieldvault --schema restoration", "serve on 127.0.0.1:8787"),
    ],
    exitCodes: codes + [busy, refused])

  static let busy = ExitCode(6, "busy", "busy: another server uses the folder")
  static let refused = ExitCode(10, "refused", "refused: the name exists, or a schema does not fit")
  static let codes: [ExitCode] = [
    .done, .failed, .usage, .locked, ExitCode(4, "notFound", "no such folder, account, user, token or device"),
    .damaged,
    .interrupted,
  ]

  /// The command whose options are the settings of a configuration file.
  static let configuredCommand = ["serve"]

  private static let dataOption = OptionDescription.value(
    "data", "DIR", "the data folder of the server", completion: .folder)
  static let databaseOption = OptionDescription.value(
    "database", "URL", "the PostgreSQL database of the server in place of a folder, postgresql://USER@HOST/NAME")
  static let keyOption = OptionDescription.value(
    "key-file", "FILE", "the key of the data, in place of server.key in the data folder", completion: .file,
    variable: "FIELDVAULT_SERVER_KEY_FILE")
  static let configOption = OptionDescription.value(
    "config", "FILE", "a file with settings of 'serve', for options that are not given", completion: .file,
    variable: "FIELDVAULT_SERVER_CONFIG", isSetting: false)
  static let schemaOption = OptionDescription.value(
    "schema", "NAME_OR_FOLDER", "restoration, range, receipts, or a folder of SQL files", repetition: .list,
    completion: .folder, names: Schema.shipped.map(\.name))
  static let folderOptions = [dataOption, keyOption, configOption]
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
      .value("record-quota", "N", "the maximum number of records of an account (default: no limit)"),
      .value("device-quota", "N", "the maximum number of devices of an account (default: no limit)"),
      .value(
        "upload-days", "N", "how long an inactive upload is kept", default: "\(usual.files.uploadSeconds / 86_400)"),
    ] + objectStoreOptions + [
      .value(
        "admin-listen", "HOST:PORT",
        "an address for the operator, without tokens and TLS: /metrics, /v1/health, /v1/ready, and the pages of 'inspect' (default: none)"
      ),
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
}
