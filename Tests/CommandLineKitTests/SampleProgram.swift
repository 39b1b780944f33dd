import CommandLineKit

extension Program {
  /// A program with every kind of argument, option and group, for the tests.
  static let sample = Program(
    name: "fieldvault", version: "1.0.0",
    summary: "Keeps field records encrypted on this device and syncs them when there is a network.",
    options: [
      .value("vault", "PATH", "the vault", completion: .folder),
      .value("passphrase-file", "FILE", "unlock with the first line of FILE", completion: .file),
      .value("key-file", "FILE", "unlock with a key file", completion: .file),
      .flag("json", "one JSON document on standard output"),
      .flag("quiet", short: "q", "no progress and no hints"),
    ],
    choices: [Choice("passphrase-file", "key-file")],
    commands: [
      CommandDescription(
        "init", group: "Vault", summary: "make a vault",
        options: [
          .value("schema", "NAME_OR_FOLDER", "its tables", repetition: .list, required: true, completion: .folder)
        ]),
      CommandDescription(
        "list", aliases: ["ls"], group: "Records", summary: "records of one kind",
        discussion: "Deleted records are left out unless they are asked for.",
        arguments: [.required("ENTITY", "the entity type, or its table")],
        options: [
          .value("where", "SQL", short: "w", "only records for which this holds"),
          .value("limit", "N", short: "n", "at most this many"),
          .value("format", "FORMAT", "how to write them", default: "table", allowed: ["table", "csv", "ndjson"]),
          .flag("deleted", short: "d", "deleted records too"),
          .flag("verbose", short: "v", "more columns"),
        ],
        examples: [
          Example("fieldvault list AtmosphericLog -n 5", "the first five readings"),
          Example("fieldvault ls Room --where \"title = 'Attic'\" --json | jq", "one room, for another program"),
        ],
        exitCodes: [.locked, .notFound]),
      CommandDescription(
        "put", group: "Records", summary: "create or change a record",
        arguments: [
          .required("ENTITY", "the entity type, or its table"),
          .any("FIELD=VALUE", "what to set", completion: .values("field")),
        ],
        options: [
          .value("uuid", "UUID", "the record to change", completion: .values("record")),
          .value("from", "FILE", "records as JSON", completion: .file),
        ],
        choices: [Choice("FIELD=VALUE", "from", required: true), Choice("uuid", "from")]),
      CommandDescription(
        "query", group: "Records", summary: "run SQL",
        arguments: [.required("SQL", "any SQL")],
        options: [
          .value("param", "NAME=VALUE", "a named parameter", repetition: .assignments),
          .flag("write", "let it change things"),
        ]),
      CommandDescription(
        "sync", group: "Sync", summary: "one round with the server",
        options: [.flag("push-only", "send only"), .flag("pull-only", "fetch only")],
        choices: [Choice("push-only", "pull-only")]),
      CommandDescription(
        "key", group: "Keys", summary: "the ways to unlock the vault",
        subcommands: [
          CommandDescription("list", summary: "every slot"),
          CommandDescription(
            "add", summary: "one more way to unlock",
            arguments: [.required("KIND", "of which kind", allowed: ["passphrase", "key-file", "recovery"])],
            options: [.value("pin", "PIN", "digits", isSecret: true)]),
          CommandDescription(
            "remove", summary: "take a way away",
            arguments: [.oneOrMore("SLOT", "the number that 'key list' shows", completion: .values("slot"))]),
        ]),
      CommandDescription("dump", summary: "internal state", isHidden: true),
      .completions(group: "Other"),
      .completionValues(),
      .version(group: "Other"),
    ],
    examples: [Example("fieldvault init --schema restoration", "make a vault for restoration work")])
}

/// Reads words by the sample program.
func parse(_ line: String) throws -> ParsedArguments {
  try ArgumentParser(.sample).parse(line.split(separator: " ").map(String.init))
}

/// What the sample program says to a wrong command line.
func complaint(_ line: String) -> String {
  do {
    return "no complaint: \(try parse(line).path)"
  } catch {
    return "\(error)"
  }
}
