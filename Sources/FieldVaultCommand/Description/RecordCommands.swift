import CommandLineKit

extension FieldVaultProgram {
  static let recordCommands: [CommandDescription] = [
    CommandDescription(
      "put", group: "Records", summary: "create a record, or change one",
      discussion: """
        Creates a record, or changes the one of --uuid: then only the fields that are named change. A reference to \
        another record is its uuid or its local id. An empty value (notes=) is NULL where the field may be NULL.
        """,
      arguments: [entityArgument, .any("FIELD=VALUE", "a field and its value")],
      options: [
        .value("uuid", "UUID", "the record to create or change"),
        .value(
          "from", "FILE", "a JSON object or an array of them; - is standard input; all or none", completion: .file),
        .value("send", "SECONDS", "send it at once, and wait that long for the server; 0 to 3600"),
      ],
      choices: [Choice("FIELD=VALUE", "from", required: true), Choice("uuid", "from"), Choice("send", "from")],
      examples: [
        Example("fieldvault put Project title='14 Elm Street' status=active", "a new project"),
        Example("fieldvault put Room projectId=0193... title=Attic squareFootage=120.5", "a room of it"),
        Example("fieldvault put Room --uuid 0193... title=Loft", "another title"),
        Example("fieldvault put Room --uuid 0193... title=Loft --send 5", "and tell whether the server has it"),
      ],
      exitCodes: usual + [.noSpace, .refused]),
    CommandDescription(
      "get", group: "Records", summary: "one record", arguments: [entityArgument, .required("UUID", "the record")],
      examples: [Example("fieldvault get Project 0193... --json", "as JSON")], exitCodes: usual),
    CommandDescription(
      "list", aliases: ["ls"], group: "Records", summary: "records of one kind",
      arguments: [entityArgument],
      options: [
        .value("where", "SQL", short: "w", "an SQL expression; only records for which it is true"),
        .value("order", "FIELD[:desc]", short: "o", "the order; may be repeated", repetition: .list),
        .value("limit", "N", short: "n", "at most this many"),
        .flag("deleted", "deleted records, too"),
      ],
      examples: [
        Example("fieldvault list AtmosphericLog --where 'relativeHumidity > 90' --order date:desc -n 10", ""),
        Example("fieldvault ls Room --json", "all rooms for a program"),
      ],
      exitCodes: usual + [.refused]),
    CommandDescription(
      "delete", aliases: ["rm"], group: "Records", summary: "delete records and their dependents",
      discussion: """
        The records are marked as deleted. Sync removes them from the vault once the server has the deletion; undelete \
        restores them before and after that. Records that the server never had are removed for good. Asks on a terminal when \
        more than one record is deleted, dependents included.
        """,
      arguments: [entityArgument, .oneOrMore("UUID", "the records")],
      options: [
        .flag("yes", short: "y", "do not ask"),
        .flag("dry-run", "tell how many records would be deleted, and delete none"),
      ],
      examples: [
        Example("fieldvault delete Room 0193...", "the room, its logs, its photos"),
        Example("fieldvault delete Room 0193... --dry-run", "how many that would be"),
      ],
      exitCodes: usual + [.refused]),
    CommandDescription(
      "undelete", group: "Records", summary: "restore deleted records and the dependents deleted with them",
      discussion: """
        Before the deletion was sent, deletion and restoration cancel out, without a network. Afterwards the server restores \
        the dependents, and the next sync brings them. A record that sync has removed from the vault is fetched from the \
        FieldVault server, which keeps deletions for 90 days by default. All records are restored or none.
        """,
      arguments: [entityArgument, .oneOrMore("UUID", "the deleted records")],
      examples: [Example("fieldvault undelete Room 0193...", "the room, its logs, its photos")],
      exitCodes: usual + [.offline, .refused, .credentials]),
    CommandDescription(
      "purge", group: "Records", summary: "remove deleted records for good",
      discussion: """
        Removes the rows of deleted records and of their dependents, and the keys of their files. A deletion that the server \
        has not acknowledged is refused. Sync purges by itself what the server has acknowledged. Asks on a terminal.
        """,
      arguments: [entityArgument, .oneOrMore("UUID", "the deleted records")],
      options: [.flag("yes", short: "y", "do not ask")],
      examples: [Example("fieldvault purge Room 0193...", "a room that was deleted before")],
      exitCodes: usual + [.refused]),
    CommandDescription(
      "import", group: "Records", summary: "records from a CSV, NDJSON or JSON file",
      discussion: """
        The kind of file is told by its ending (.csv, .ndjson, .jsonl, .json) or by --format. Columns named as fields \
        are taken by themselves; --map names the others. Without --map, a column that is no field is refused; with \
        --map, such columns are left out and named. All rows or none, unless --skip-invalid. An empty value is \
        NULL. --map roomId.title=origin finds the referenced record by a column of its own.
        """,
      arguments: [entityArgument, .required("FILE", "the file; - is standard input", completion: .file)],
      options: [
        .value("map", "FIELD=COLUMN,...", "which column fills which field", repetition: .assignments),
        .value("set", "FIELD=VALUE", "a value for every record", repetition: .assignments),
        .value("null", "TEXT", "the text that means a missing value"),
        .value("format", "FORMAT", "the kind of file", allowed: ["csv", "ndjson", "json"]),
        .flag("skip-invalid", "leave out rows that cannot be taken, and name them"),
      ],
      examples: [
        Example("fieldvault import Room rooms.csv --set projectId=0193...", "columns named as the fields"),
        Example(
          "fieldvault import AtmosphericLog w.csv --map date=time_hour,temperature=temp --null NA --skip-invalid", ""),
      ],
      exitCodes: usual + [.noSpace, .refused]),
    CommandDescription(
      "export", group: "Records", summary: "records to standard output, not encrypted",
      arguments: [entityArgument],
      options: [
        .value(
          "format", "FORMAT", "how to write them", default: "csv", allowed: ["csv", "ndjson", "json"])
      ],
      examples: [Example("fieldvault export Room --format csv > rooms.csv", "for a spreadsheet")],
      exitCodes: usual),
  ]
}
