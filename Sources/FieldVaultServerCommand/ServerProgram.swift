import CommandLineKit
import SyncModel

/// The whole command line, from which parsing, help and completions come.
enum ServerProgram {
  static let version = "0.2.0"

  static let program = Program(
    name: "fieldvault-server", version: version,
    summary: "the server that field devices sync with",
    options: [
      .flag("json", "one JSON document on standard output"),
      .flag("quiet", short: "q", "no line for each request, no hints"),
      .flag("no-color", "no colours"),
    ],
    commands: [
      serve, user, token, backup, restore, verify, epoch, .completions(group: "Other"), .version(group: "Other"),
    ],
    examples: [
      Example("fieldvault-server user add ada --account water --data /srv/fieldvault", "prints ada's token, once"),
      Example("fieldvault-server serve --data /srv/fieldvault --schema restoration", "serve on 127.0.0.1:8787"),
    ],
    exitCodes: codes + [.busy, .refused])

  private static let codes: [ExitCode] = [
    .done, .failed, .usage, .locked, ExitCode(4, "no such folder, user or token"), .damaged, .interrupted,
  ]

  private static let dataOption = OptionDescription.value(
    "data", "DIR", "the folder of the server's data", required: true, completion: .folder)
  private static let keyOption = OptionDescription.value(
    "key-file", "FILE", "the secret of the data; server.key in the folder when it is not given", completion: .file)

  private static let serve = CommandDescription(
    "serve", group: "Server", summary: "answer devices until stopped",
    discussion: """
      The folder remembers its schemas; when none is named the first time, all that ship are served. SIGTERM and SIGINT finish what is in flight and \
      end with 0; a second signal ends at once.
      """,
    options: [
      dataOption, keyOption,
      .value("listen", "HOST:PORT", "where to listen; port 0 lets the system choose", default: "127.0.0.1:8787"),
      .value(
        "schema", "NAME_OR_FOLDER", "restoration, range, receipts, or a folder of SQL files", repetition: .list,
        completion: .folder),
      .value("tls-cert", "FILE", "the certificate, PEM; with it the server speaks TLS", completion: .file),
      .value("tls-key", "FILE", "the private key of the certificate, PEM", completion: .file),
      .value(
        "public-url", "URL", "where clients see the server, for the addresses of uploads; without it they are paths"),
      .value("retention-days", "N", "how long answers and deletions are kept", default: "90"),
      .value("max-body", "BYTES", "the largest body of a request", default: "8388608"),
      .value(
        "rate", "N", "requests each second that one user may make for long; five times as many about files",
        default: "200"),
      .value("max-file", "BYTES", "the largest file", default: "10737418240"),
      .value("quota", "BYTES", "what the files of one user may take", default: "107374182400"),
      .value("upload-days", "N", "how long an upload that stands still is kept", default: "7"),
      .value(
        "s3-endpoint", "URL", "an object store (S3); with it files go there, at addresses that the server signs"),
      .value("s3-bucket", "NAME", "the bucket in the object store"),
      .value(
        "s3-credentials", "FILE", "two lines, the access key id and the secret access key; mode 0600",
        completion: .file),
      .value("s3-region", "R", "the region of the bucket (default: us-east-1)"),
      .value("s3-address-seconds", "N", "how long an address is good (default: 600)"),
      .value(
        "s3-type", "TYPE", "a type of files that may be sent to the object store, such as image/jpeg or image/*",
        repetition: .list),
    ],
    examples: [
      Example("fieldvault-server serve --data data --schema restoration", "listen on 127.0.0.1:8787"),
      Example(
        "fieldvault-server serve --data data --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem",
        "listen to everybody, encrypted"),
      Example(
        "fieldvault-server serve --data data --s3-endpoint https://s3.eu-central-1.amazonaws.com --s3-bucket photos "
          + "--s3-region eu-central-1 --s3-credentials s3.key", "keep files in an object store"),
    ],
    exitCodes: codes + [.busy, .refused])

  private static let user = CommandDescription(
    "user", group: "Users", summary: "who may sync",
    subcommands: [
      CommandDescription(
        "add", summary: "add a user and print the token, once",
        discussion: """
          The token is kept nowhere: who loses it is revoked and added again. A running server lets the user in at once.
          """,
        arguments: [.required("NAME", "the name, unique on the server")],
        options: [
          dataOption, keyOption,
          .value("account", "A", "the account whose records the user sees; made when it is new (default: default)"),
          roleOption, expiryOption,
        ],
        examples: [Example("fieldvault-server user add ada --account water --data data > token", "")],
        exitCodes: codes + [.refused]),
      CommandDescription(
        "list", aliases: ["ls"], summary: "all users", options: [dataOption, keyOption],
        examples: [Example("fieldvault-server user list --data data --json", "as JSON")], exitCodes: codes),
      CommandDescription(
        "revoke", summary: "end all tokens of a user, at once",
        arguments: [.required("NAME", "the name")], options: [dataOption, keyOption],
        examples: [Example("fieldvault-server user revoke ada --data data", "")], exitCodes: codes),
    ])

  private static let roleOption = OptionDescription.value(
    "role", "R", "what the holder is: a device, a service beside the server, or an admin of the account",
    default: TokenRole.device.rawValue, allowed: TokenRole.allCases.map(\.rawValue))
  private static let expiryOption = OptionDescription.value(
    "expires", "DATE", "when the token ends: a date, which means its beginning in UTC, or a time in UTC")

  private static let token = CommandDescription(
    "token", group: "Server", summary: "the tokens of users", exitCodes: codes,
    subcommands: [
      CommandDescription(
        "add", summary: "one more token for a user; the token is printed once",
        discussion: """
          A token for each device and each program keeps the others valid when one is lost. The role of a service is for \
          programs that fill fields owned by the server; they never change a field that a user has corrected.
          """,
        arguments: [.required("USER", "the user")],
        options: [
          dataOption, keyOption, roleOption, expiryOption,
          .value("label", "TEXT", "which device or program gets it"),
        ],
        examples: [
          Example("fieldvault-server token add ada --label tablet --data data", ""),
          Example("fieldvault-server token add reader --role service --expires 2027-06-01 --data data", ""),
        ], exitCodes: codes),
      CommandDescription(
        "list", aliases: ["ls"], summary: "the tokens of a user, or all",
        arguments: [.optional("USER", "the user")], options: [dataOption, keyOption],
        examples: [Example("fieldvault-server token list ada --data data --json", "as JSON")], exitCodes: codes),
      CommandDescription(
        "revoke", summary: "end one token, at once",
        arguments: [.required("ID", "its number, as 'token list' shows it")], options: [dataOption, keyOption],
        examples: [Example("fieldvault-server token revoke 3 --data data", "")], exitCodes: codes),
    ])

  private static let backup = CommandDescription(
    "backup", group: "Data", summary: "a consistent copy of the data, also while a server runs",
    discussion: """
      FILE holds all accounts and their files, and the key of the server unless --key-file names it: keep it as safe as the \
      folder. It appears when it is complete and replaces nothing. Files in an object store are not in it.
      """,
    arguments: [.required("FILE", "the backup to write")], options: [dataOption, keyOption],
    examples: [Example("fieldvault-server backup 2026-11-23.backup --data data", "")],
    exitCodes: codes + [.busy, .noSpace, .refused])

  private static let restore = CommandDescription(
    "restore", group: "Data", summary: "a new folder from a backup, after checking it",
    discussion: """
      The restored data begin a new epoch: devices compare all of their records, and send again what the server had \
      acknowledged after the backup.
      """,
    arguments: [.required("FILE", "the backup")], options: [dataOption, keyOption],
    examples: [
      Example("fieldvault-server restore 2026-11-23.backup --data new", "then: fieldvault-server serve --data new")
    ],
    exitCodes: codes + [.noSpace, .refused])

  private static let verify = CommandDescription(
    "verify", group: "Data", summary: "check every database and every file of the folder",
    options: [dataOption, keyOption],
    examples: [Example("fieldvault-server verify --data data --json", "as JSON")], exitCodes: codes)

  private static let epoch = CommandDescription(
    "epoch", group: "Data", summary: "the history that the data belong to", exitCodes: codes,
    subcommands: [
      CommandDescription(
        "new", summary: "start a new epoch, after data were put back by other means than 'restore'",
        discussion: "Run it before the server starts: devices compare all records and send again what is missing.",
        options: [dataOption, keyOption], examples: [Example("fieldvault-server epoch new --data data", "")],
        exitCodes: codes + [.busy])
    ])
}
