import CommandLineKit
import SyncModel

/// Users, their tokens and the audit log.
extension ServerProgram {
  static let user = CommandDescription(
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

  static let token = CommandDescription(
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

  static let device = CommandDescription(
    "device", group: "Users", summary: "show and revoke the devices that sync", exitCodes: codes,
    subcommands: [
      CommandDescription(
        "list", aliases: ["ls"], summary: "list the devices of an account, or of all accounts",
        discussion: """
          The column 'behind' is the number of changes of the account that the device has not read. The last contact is at most a \
          minute late. A device is known by the id that its vault has drawn, and gets another one when the vault is copied or restored.
          """,
        arguments: [.optional("ACCOUNT", "the account")], options: sourceOptions, choices: oneSource,
        examples: [Example("fieldvault-server device list water --data data", "the devices of the account water")],
        exitCodes: codes),
      CommandDescription(
        "revoke", summary: "refuse a lost device, effective immediately",
        discussion: """
          At its next contact the device removes the records and files that the server has, if its vault allows it (fieldvault config \
          set remove-when-revoked true); 'device list' shows when it was told. Then revoke its token as well: with a valid token \
          another vault can sync.
          """,
        arguments: [.required("ID", "the id of a device from 'device list'")], options: sourceOptions,
        choices: oneSource,
        examples: [
          Example("fieldvault-server device revoke 0190a5b2-7c3d-7e4f-8a1b-2c3d4e5f6071 --data data", "")
        ],
        exitCodes: codes),
    ])

  static let audit = CommandDescription(
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

  static let inspect = CommandDescription(
    "inspect", group: "Server", summary: "print a link to the pages of a running server",
    discussion: """
      The pages are on the address of --admin-listen: accounts, users, tokens, devices, queues, the audit log, and figures as plots. They \
      show no records, files or tokens, and change nothing. The link opens one browser, once, within ten minutes, at any node. The session \
      ends after 15 minutes without a request, and after 12 hours. The audit log has each link.
      """,
    options: sourceOptions + [
      .value("admin-listen", "HOST:PORT", "the address for the operator, as for 'serve'")
    ],
    choices: oneSource,
    examples: [
      Example("fieldvault-server inspect --config /etc/fieldvault/server.conf", "the server of a configuration file"),
      Example("fieldvault-server inspect --data data --admin-listen 127.0.0.1:9464", ""),
    ],
    exitCodes: codes)
}
