import CommandLineKit

extension FieldVaultProgram {
  static let outboxCommands: [CommandDescription] = [
    CommandDescription(
      "outbox", aliases: ["queue"], group: "Sync", summary: "operations that wait for the server", exitCodes: usual,
      subcommands: [
        CommandDescription(
          "list", aliases: ["ls"], summary: "operations in the order in which they are sent",
          options: [.flag("all", short: "a", "also operations acknowledged in the last seven days")],
          examples: [
            Example("fieldvault outbox list", "unfinished operations"),
            Example("fieldvault outbox ls --json", "as JSON"),
          ],
          exitCodes: usual),
        CommandDescription(
          "show", summary: "one operation with its payload and base", arguments: [operation],
          examples: [Example("fieldvault outbox show 0193... --json", "as JSON")], exitCodes: usual),
        CommandDescription(
          "retry", summary: "send failed operations again",
          arguments: [.any("ID", "ids of operations")],
          options: [.flag("all", short: "a", "all failed operations")], choices: [Choice("ID", "all", required: true)],
          examples: [Example("fieldvault outbox retry --all", "after the server was repaired")],
          exitCodes: usual + [.refused]),
        CommandDescription(
          "discard", aliases: ["rm"], summary: "discard operations and restore the server's version of their records",
          discussion: """
            Each record returns to its last known server version. A record that the server never had is removed with its \
            dependents. Asks first on a terminal.
            """,
          arguments: [.oneOrMore("ID", "ids of operations")],
          options: [.flag("yes", short: "y", "do not ask")],
          examples: [Example("fieldvault outbox discard 0193...", "undo a local change")],
          exitCodes: usual + [.refused]),
      ]),
    CommandDescription(
      "conflicts", aliases: ["conflict"], group: "Sync", summary: "conflicts that need a decision", exitCodes: usual,
      subcommands: [
        CommandDescription(
          "list", aliases: ["ls"], summary: "open conflicts",
          options: [.flag("all", short: "a", "also resolved conflicts, including those that a policy resolved")],
          examples: [
            Example("fieldvault conflicts list", "conflicts that need a decision"),
            Example("fieldvault conflicts list --all", "overwritten values and the values that replaced them"),
          ],
          exitCodes: usual),
        CommandDescription(
          "show", summary: "both versions side by side", arguments: [conflict],
          examples: [Example("fieldvault conflicts show 0193...", "field by field")], exitCodes: usual),
        CommandDescription(
          "resolve", summary: "resolve a conflict",
          discussion: """
            --take names the version whose values win. --set overrides it for single fields: local, remote, or another value \
            after a second =. In a conflict about a deletion, --take decides whether the record stays.
            """,
          arguments: [conflict],
          options: [
            .value("take", "SIDE", "the version whose values win", required: true, allowed: ["local", "remote"]),
            .value("set", "FIELD=local|remote|=VALUE", "the value of one field", repetition: .assignments),
            .value("note", "TEXT", "a note for the history"),
          ],
          examples: [
            Example("fieldvault conflicts resolve 0193... --take remote", "take the server's version"),
            Example(
              "fieldvault conflicts resolve 0193... --take local --set status=remote title==Kitchen",
              "combine both versions"),
          ],
          exitCodes: usual + [.refused]),
      ]),
  ]

  private static let operation = ArgumentDescription.required("ID", "the id of an operation from 'outbox list'")
  private static let conflict = ArgumentDescription.required("ID", "the id of a conflict from 'conflicts list'")
}
