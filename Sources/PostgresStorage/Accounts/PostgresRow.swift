import CSodium
import Platform
import ServerStorage
import SyncModel

/// The columns of `fieldvault.record`.
extension RecordRow {
  /// The columns after the account, with their types and the values that a row has in them. The one place for their order.
  private static let layout: [(name: String, type: String)] = [
    ("sequence", "bigint"), ("entity_type", "text"), ("entity_uuid", "text"), ("server_id", "bigint"),
    ("version", "bigint"), ("first_version", "bigint"), ("is_deleted", "boolean"), ("is_cascaded", "boolean"),
    ("root_type", "text"), ("root_uuid", "text"), ("project", "text"), ("digest", "text"), ("created_at", "bigint"),
    ("updated_at", "bigint"), ("stored_at", "bigint"), ("fields", "text"), ("user_edited_fields", "text"),
    ("edit_times", "text"), ("field_versions", "text"), ("start_versions", "text"), ("service_fields", "text"),
    ("keys", "text"),
  ]

  /// Returns the columns for a SELECT.
  static func columns(_ table: String) -> String { layout.map { "\(table).\($0.name)" }.joined(separator: ", ") }

  /// Adds rows, or replaces the rows of the same records. The parameters are arrays with a value of each row.
  static let upsert = Statement(
    """
    INSERT INTO fieldvault.record (account_id, \(layout.map(\.name).joined(separator: ", ")))
    SELECT $1::uuid, \(layout.map { "new.\($0.name)" }.joined(separator: ", "))
    FROM unnest(\(layout.enumerated().map { "$\($0.offset + 2)::\($0.element.type)[]" }.joined(separator: ", ")))
      AS new (\(layout.map(\.name).joined(separator: ", ")))
    ON CONFLICT (account_id, entity_type, entity_uuid) DO UPDATE SET
      \(layout.map(\.name).filter { $0 != "entity_type" && $0 != "entity_uuid" }
        .map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
    """)

  /// Returns the values of rows for ``upsert``, without the account.
  static func values(of rows: [RecordRow], in form: ValueForm) -> [PostgresValue] {
    func integers(_ value: (RecordRow) -> Int64) -> PostgresValue { .integers(rows.map(value)) }
    func texts(_ value: (RecordRow) -> String?) -> PostgresValue { .texts(rows.map(value)) }
    func values(_ column: String, _ text: (RecordRow) -> String) -> PostgresValue {
      texts { form.stored(text($0), at: place(column, $0.name.entityType, $0.name.entityUuid, $0.record.version)) }
    }
    return [
      integers(\.record.sequence), texts(\.name.entityType), texts(\.name.entityUuid), integers(\.record.serverId),
      integers(\.record.version), integers(\.record.firstVersion), .flags(rows.map(\.record.state.isDeleted)),
      .flags(rows.map(\.isCascaded)), texts { $0.record.deletedWith?.entityType },
      texts { $0.record.deletedWith?.entityUuid }, texts(\.project), values(digestColumn, \.digest),
      integers(\.record.createdAt),
      integers(\.record.state.updatedAt), integers(\.storedAt),
      values(fieldsColumn) { RowText.fields($0.record.state.fields) },
      texts { RowText.text($0.record.state.userEditedFields) }, texts { RowText.text($0.record.state.editTimes) },
      texts { RowText.text($0.record.fieldVersions) }, texts { RowText.text($0.record.startVersions) },
      texts { RowText.text($0.record.serviceFields) }, values(keysColumn) { RowText.text($0.keys) },
    ]
  }

  fileprivate static let (digestColumn, fieldsColumn, keysColumn) = ("digest", "fields", "keys")

  fileprivate static func place(
    _ column: String, _ entityType: String, _ uuid: String, _ version: Int64
  ) -> ValueForm.Place { .record(column, entityType, uuid, version: version) }

  /// Returns the digest of a record from its stored form.
  static func digest(
    _ stored: String, of entityType: String, _ uuid: String, version: Int64, in form: ValueForm
  ) throws -> String { try form.text(stored, at: place(digestColumn, entityType, uuid, version)) }

  /// Reads a row with all columns.
  init(_ row: PostgresRow, in form: ValueForm) throws {
    func value(_ index: Int, _ column: String) throws -> String {
      try form.text(row.text(index), at: Self.place(column, row.text(1), row.text(2), row.integer(4)))
    }
    let root = row.optionalText(8).flatMap { type in row.optionalText(9).map { RecordName(type, $0) } }
    let state = RecordState(
      fields: try SyncObject(parsing: value(15, Self.fieldsColumn)), isDeleted: row.flag(6),
      syncVersion: row.integer(4),
      updatedAt: row.integer(13), editTimes: try RowText.numbers(row.text(17)),
      userEditedFields: try RowText.names(row.text(16)))
    self.init(
      record: ServerRecord(
        name: RecordName(row.text(1), row.text(2)), serverId: row.integer(3), sequence: row.integer(0),
        createdAt: row.integer(12), state: state, fieldVersions: try RowText.numbers(row.text(18)),
        firstVersion: row.integer(5), startVersions: try RowText.startVersions(row.text(19)), deletedWith: root,
        serviceFields: try RowText.names(row.text(20))),
      isCascaded: row.flag(7), project: row.optionalText(10), digest: try value(11, Self.digestColumn),
      storedAt: row.integer(14),
      keys: try RowText.keys(value(21, Self.keysColumn)))
  }
}

extension ChangedRecord {
  /// Returns the columns that a page of changes reads, for a SELECT.
  static func columns(_ table: String) -> String {
    [
      "sequence", "entity_type", "entity_uuid", "server_id", "version", "is_deleted", "root_type", "root_uuid",
      "created_at", "updated_at", "fields", "user_edited_fields", "edit_times",
    ].map { "\(table).\($0)" }.joined(separator: ", ")
  }

  /// Reads a row with ``columns(_:)``.
  init(_ row: PostgresRow, in form: ValueForm) throws {
    let name = RecordName(row.text(1), row.text(2))
    let version = row.integer(4)
    let root = row.optionalText(6).flatMap { type in row.optionalText(7).map { RecordName(type, $0) } }
    let state = RecordState(
      fields: [:], isDeleted: row.flag(5), syncVersion: version, updatedAt: row.integer(9),
      editTimes: try RowText.numbers(row.text(12)), userEditedFields: try RowText.names(row.text(11)))
    self.init(
      sequence: row.integer(0), name: name, serverId: row.integer(3), createdAt: row.integer(8), state: state,
      deletedWith: root,
      fields: try form.text(
        row.text(10), at: RecordRow.place(RecordRow.fieldsColumn, name.entityType, name.entityUuid, version)))
  }
}

/// The form in which an index holds a text from records. An entry of a PostgreSQL index has a limited size, and a text of
/// PostgreSQL has no character U+0000.
enum IndexText {
  /// The longest text that is stored as it is, in bytes.
  private static let limit = 200

  /// Returns a short text as it is, and `#` with the BLAKE2b digest of any other. Different texts have different forms.
  static func of(_ text: String) -> String {
    let utf8 = text.utf8
    if utf8.count <= limit, utf8.first != UInt8(ascii: "#"), !utf8.contains(0) { return text }
    let bytes = Array(utf8)
    var digest = [UInt8](repeating: 0, count: 32)
    _ = crypto_generichash(&digest, digest.count, bytes, UInt64(bytes.count), nil, 0)
    return "#" + HexText.text(digest)
  }
}

/// The names of records as parameters. A client can name any text.
extension [RecordName] {
  /// The entities in their forms in the index.
  var types: PostgresValue { .texts(map { IndexText.of($0.entityType) }) }
  /// The UUIDs in their forms in the index.
  var uuids: PostgresValue { .texts(map { IndexText.of($0.entityUuid) }) }
}
