import CommandLineKit

extension FieldVaultProgram {
  static let questionCommands: [CommandDescription] = [
    CommandDescription(
      "query", group: "Questions", summary: "run one SQL statement",
      discussion: "Read-only, unless --write is given. Values belong into --param, not into the text.",
      arguments: [.required("SQL", "the statement")],
      options: [
        .value("param", "NAME=VALUE", "the value of :NAME", repetition: .assignments),
        .flag("write", "let the statement change the vault"),
      ],
      examples: [
        Example("fieldvault query 'SELECT title FROM OfflineRoom WHERE level = :level' --param level=2", ""),
        Example("fieldvault query 'SELECT * FROM entities' --json", "a view for people, as JSON"),
      ],
      exitCodes: usual + [.refused]),
    CommandDescription(
      "search", group: "Questions", summary: "full-text search",
      discussion: "Finds records in which all the words stand; the last word may be the beginning of one.",
      arguments: [.required("TEXT", "the words")],
      options: [
        .value("entity", "ENTITY", "only in records of this kind"),
        .value("limit", "N", short: "n", "at most this many", default: "50"),
      ],
      examples: [Example("fieldvault search 'wet base'", "finds 'wet baseboard'")],
      exitCodes: usual),
  ]

  static let otherCommands: [CommandDescription] = [
    .completions(group: "Other"),
    .version(group: "Other"),
  ]
}
