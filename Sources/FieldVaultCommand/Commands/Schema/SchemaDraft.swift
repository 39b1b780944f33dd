import CipherSQL

/// The files of a new schema.
struct SchemaDraft {
  /// The name of the schema and of its folder.
  let name: String
  let entities: [EntityDraft]

  /// The paths within the folder and the texts, in the order in which they are written and listed.
  var files: [(path: String, text: String)] {
    [
      ("README.md", readme), ("0001_tables.sql", tables), ("0002_registry.sql", registry),
      ("queries/examples.sql", queries),
    ]
  }

  // MARK: Tables

  private var tables: String {
    """
    -- The tables of the schema \(name). README.md explains the parts to edit.

    \(entities.map(table).joined(separator: "\n"))
    """
  }

  private func table(_ entity: EntityDraft) -> String {
    """
    -- \(title(entity)).
    CREATE TABLE \(entity.table) (
      \(entity.key) INTEGER PRIMARY KEY,
      serverId INTEGER, -- the server's id; NULL until synced
      uuid TEXT NOT NULL UNIQUE
        DEFAULT (lower(printf('%08x-%04x-7%03x-%04x-%s',
          CAST(unixepoch('subsec') * 1000 AS INTEGER) / 65536, CAST(unixepoch('subsec') * 1000 AS INTEGER) % 65536,
          random() & 4095, 32768 | (random() & 16383), hex(randomblob(6)))))
        CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
    \(columns(of: entity).map { "  \($0)\n" }.joined())\
      createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
      updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
      lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
      syncStatus TEXT NOT NULL DEFAULT 'pending'
        CHECK (syncStatus = 'pending' OR syncStatus = 'syncing' OR syncStatus = 'synced' OR syncStatus = 'conflict'
          OR syncStatus = 'failed'),
      syncVersion INTEGER NOT NULL DEFAULT 0 CHECK (syncVersion >= 0), -- the server's version that this one is based on
      isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), -- has changes that the server does not have
      isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
    ) STRICT;

    CREATE INDEX \(entity.table)_serverId ON \(entity.table) (serverId) WHERE serverId IS NOT NULL;
    CREATE INDEX \(entity.table)_dirty ON \(entity.table) (syncStatus) WHERE isDirty = 1;
    CREATE INDEX \(entity.table)_updated ON \(entity.table) (isDeleted, updatedAt);
    \(entity.fields.compactMap { index(on: $0, of: entity) }.joined())
    """
  }

  /// The beginning of the comment above a table, which becomes the documentation of its Swift type: `A gps fix`.
  private func title(_ entity: EntityDraft) -> String {
    let words = Self.words(entity.name)
    return "\("aeiou".contains(words.prefix(1)) ? "An" : "A") \(words)"
  }

  /// Returns a name in words: `SiteVisit` becomes `site visit`, and `GPSFix` becomes `gps fix`.
  private static func words(_ name: String) -> String {
    var text = ""
    let letters = Array(name)
    for (index, letter) in letters.enumerated() {
      let endsWord =
        index > 0 && letter.isUppercase
        && (!letters[index - 1].isUppercase || (index + 1 < letters.count && letters[index + 1].isLowercase))
      text += (endsWord ? " " : "") + letter.lowercased()
    }
    return text
  }

  private func columns(of entity: EntityDraft) -> [String] {
    if entity.fields.isEmpty { return ["title TEXT, -- an example: replace it by the fields of the entity"] }
    return entity.fields.map { field in
      let name = SQL.quotedIfNeeded(field.name)
      let rule =
        switch field.type {
        case .text: "TEXT,"
        case .integer: "INTEGER, -- state the unit here"
        case .real: "REAL, -- state the unit here"
        case .blob: "BLOB,"
        case .bool: "INTEGER NOT NULL DEFAULT 0 CHECK (\(name) IN (0, 1)),"
        case .date: "TEXT CHECK (\(name) IS date(\(name))), -- a day, such as 2026-01-31"
        case .time:
          "TEXT CHECK (\(name) IS strftime('%Y-%m-%dT%H:%M:%fZ', \(name))), -- UTC, such as 2026-01-31T06:00:00.000Z"
        case .json: "TEXT CHECK (json_valid(\(name))),"
        case .reference(let target): "INTEGER REFERENCES \(reference(to: target, from: entity)),"
        }
      return "\(name) \(rule)"
    }
  }

  /// A record is deleted with the record that it references. A record of the same entity stays, and its reference becomes NULL.
  private func reference(to target: String, from entity: EntityDraft) -> String {
    guard let found = entities.first(where: { $0.name == target }) else { return "" }
    return "\(found.table) (\(found.key)) ON DELETE \(target == entity.name ? "SET NULL" : "CASCADE")"
  }

  /// Without an index, each removal of the referenced record would read the whole table.
  private func index(on field: EntityDraft.Field, of entity: EntityDraft) -> String? {
    guard case .reference = field.type else { return nil }
    let name = SQL.quotedIfNeeded(field.name)
    return "CREATE INDEX \(entity.table)_\(field.name) ON \(entity.table) (\(name)) WHERE \(name) IS NOT NULL;\n"
  }

  // MARK: Registry and queries

  private var registry: String {
    """
    -- The synced entities. defaultPriority: 0 critical, 1 high, 2 medium, 3 low; a lower number is sent first.
    -- conflictPolicy, for a field that two sides changed: manual, last_write_wins, server_wins, client_wins or merge.

    INSERT INTO SyncedEntity (entityType, tableName, schemaName, defaultPriority, conflictPolicy, description) VALUES
    \(entities.map {
      "  ('\($0.name)', '\($0.table)', '\(name)', 2, 'last_write_wins', '\(Self.words($0.name)) records')"
    }.joined(separator: ",\n"));

    """
  }

  private var queries: String {
    guard let entity = entities.first else { return "" }
    return """
      -- name: recent\(entity.name)Records :many
      -- The \(Self.words(entity.name)) records that changed last, the newest first. This comment becomes the documentation.
      -- no-scan
      SELECT * FROM \(entity.table)
      WHERE isDeleted = 0
      ORDER BY updatedAt DESC
      LIMIT :limit;

      """
  }

  // MARK: README

  private var readme: String {
    let example = example
    return """
      # \(name)

      A schema of FieldVault: versioned SQL files, which are the only declaration of its tables. The article Schemas of the
      FieldVault handbook and `Schema/README.md` of its repository have all rules.

      | file | contents | what to edit |
      |---|---|---|
      | `0001_tables.sql` | a table with the common fields for each entity | the columns between `uuid` and `createdAt`. State the unit of each number in the comment of its column, and add NOT NULL, UNIQUE and CHECK where a rule holds on every device |
      | `0002_registry.sql` | the rows that make the tables synced entities | priority, conflict policy and description |
      | `queries/examples.sql` | named queries, which become typed Swift functions | the example; the folder can be removed |

      Keep the common fields, their names and their defaults. Sync and the derived triggers use them.

      ## Use

      The name of this folder is the name of the schema, which `0002_registry.sql` repeats.

      ```
      fieldvault init --schema ./\(name) --vault \(name).vault
      fieldvault put \(example.entity) \(example.assignment) --vault \(name).vault
      fieldvault list \(example.entity) --vault \(name).vault
      fieldvault-server serve --data data --schema ./\(name)
      ```

      ## Change

      Edit the files freely until a vault or a server has loaded them. Afterwards a file never changes, because each vault records its
      checksum. Add a file with the next number, such as `0003_notes.sql`, and run `fieldvault migrate apply`. Update the server before
      the devices.

      """
  }

  /// A record that `put` creates.
  private var example: (entity: String, assignment: String) {
    for entity in entities {
      if entity.fields.isEmpty { return (entity.name, "title=Example") }
      for field in entity.fields {
        if let value = Self.example(of: field.type) { return (entity.name, "\(field.name)=\(value)") }
      }
    }
    return (entities.first?.name ?? "", "FIELD=VALUE")
  }

  private static func example(of type: EntityDraft.FieldType) -> String? {
    switch type {
    case .text: "Example"
    case .integer: "1"
    case .real: "1.5"
    case .bool: "true"
    case .date: "2026-01-31"
    case .time: "2026-01-31T06:00:00.000Z"
    case .json: "'{}'"
    case .blob, .reference: nil
    }
  }
}
