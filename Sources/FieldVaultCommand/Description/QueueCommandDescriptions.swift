import CommandLineSupport

extension FieldVaultProgram {
  static let queueCommands: [CommandDescription] = [
    CommandDescription(
      "queue", aliases: ["outbox"], group: "Sync", summary: "what waits to be sent", exitCodes: usual,
      subcommands: [
        CommandDescription(
          "list", aliases: ["ls"], summary: "the operations, in the order in which they are sent",
          options: [.flag("all", short: "a", "those of the last seven days that are done, too")],
          examples: [
            Example("fieldvault queue list", "what waits"), Example("fieldvault queue ls --json", "for a program"),
          ],
          exitCodes: usual),
        CommandDescription(
          "show", summary: "one operation, and what is or would be sent", arguments: [operation],
          examples: [Example("fieldvault queue show 0193... --json", "with its payload")], exitCodes: usual),
        CommandDescription(
          "retry", summary: "send failed operations again",
          arguments: [.any("ID", "the operations")],
          options: [.flag("all", short: "a", "all that failed")], choices: [Choice("ID", "all", required: true)],
          examples: [Example("fieldvault queue retry --all", "after the server was mended")],
          exitCodes: usual + [.refused]),
        CommandDescription(
          "discard", aliases: ["rm"], summary: "give up what operations would send",
          discussion: """
            Their records are again as the server is known to have them. A record that the server never had goes, with \
            what hangs on it. Asks first on a terminal.
            """,
          arguments: [.oneOrMore("ID", "the operations")],
          options: [.flag("yes", short: "y", "do not ask")],
          examples: [Example("fieldvault queue discard 0193...", "what was changed here is undone")],
          exitCodes: usual + [.refused]),
      ]),
    CommandDescription(
      "conflicts", aliases: ["conflict"], group: "Sync", summary: "what a person has to decide", exitCodes: usual,
      subcommands: [
        CommandDescription(
          "list", aliases: ["ls"], summary: "the open conflicts",
          options: [.flag("all", short: "a", "those that are resolved, too, also by a rule")],
          examples: [
            Example("fieldvault conflicts list", "what is to be decided"),
            Example("fieldvault conflicts list --all", "what gave way, and to what"),
          ],
          exitCodes: usual),
        CommandDescription(
          "show", summary: "both versions side by side", arguments: [conflict],
          examples: [Example("fieldvault conflicts show 0193...", "field by field")], exitCodes: usual),
        CommandDescription(
          "resolve", summary: "decide",
          discussion: """
            --take says whose values count, --set says otherwise for single fields: from here, from the server, or \
            another value behind a second =. About a deletion --take decides whether the record stays.
            """,
          arguments: [conflict],
          options: [
            .value("take", "SIDE", "whose values count", required: true, allowed: ["local", "remote"]),
            .value("set", "FIELD=local|remote|=VALUE", "for one field", repetition: .assignments),
            .value("note", "TEXT", "why, for the record"),
          ],
          examples: [
            Example("fieldvault conflicts resolve 0193... --take remote", "the server's version"),
            Example("fieldvault conflicts resolve 0193... --take local --set status=remote title==Kitchen", "of both"),
          ],
          exitCodes: usual + [.refused]),
      ]),
  ]

  private static let operation = ArgumentDescription.required("ID", "the operation, as 'queue list' shows it")
  private static let conflict = ArgumentDescription.required("ID", "the conflict, as 'conflicts list' shows it")
}
