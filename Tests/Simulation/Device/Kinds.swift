import CipherSQL

/// A kind of record that the simulation works with.
struct Kind: Sendable {
  /// A reference to another kind.
  struct Reference: Sendable {
    let column: String
    let entity: String
    let isOptional: Bool
    /// The referenced column; `nil` for the primary key.
    var target: String?
  }

  /// A column without which no record can be made.
  struct Required: Sendable {
    enum Value: Sendable {
      case fixed(SQLArgument)
      /// A value that no other record has.
      case uniqueText, uniqueInteger
    }
    let column: String
    let value: Value
  }

  let entity: String
  let key: String
  /// A text column that gets a value which is never used again.
  let marker: String
  /// Other columns, and values for them.
  let others: [(column: String, values: [SQLArgument])]
  let references: [Reference]
  /// How often it is chosen.
  let weight: Int
  let required: [Required]
  /// Columns of a UNIQUE constraint whose values swap between records; the last takes NULL.
  var swapped: [[String]] = []

  var table: String { "Offline" + entity }

  private static let texts: [SQLArgument] = ["a", "b", "c"].map { .text($0) }
  private static let numbers: [SQLArgument] = [.real(1.5), .real(20), .real(63.25)]
  private static let date = Required(column: "date", value: .fixed(.text("2026-03-01T08:00:00.000Z")))
  private static let project = Reference(column: "projectId", entity: "Project", isOptional: false)

  private static func optional(_ column: String, _ entity: String, _ target: String? = nil) -> Reference {
    Reference(column: column, entity: entity, isOptional: true, target: target)
  }

  private static func needed(_ column: String, _ entity: String, _ target: String? = nil) -> Reference {
    Reference(column: column, entity: entity, isOptional: false, target: target)
  }

  private static func required(_ column: String, _ value: SQLArgument) -> Required {
    Required(column: column, value: .fixed(value))
  }

  // MARK: The shipped schema

  static let restoration: [Kind] = [
    Kind(
      entity: "Project", key: "projectId", marker: "title", others: [("projectNumber", texts)], references: [],
      weight: 10, required: []),
    Kind(
      entity: "Location", key: "locationId", marker: "title",
      others: [("type", ["unit", "floor", "building"].map { .text($0) })],
      references: [project, optional("parentLocationId", "Location")], weight: 14, required: []),
    Kind(
      entity: "Room", key: "roomId", marker: "title", others: [("level", texts)],
      references: [project, optional("locationId", "Location")], weight: 18, required: []),
    Kind(
      entity: "Material", key: "materialId", marker: "name", others: [("dryStandard", numbers)], references: [],
      weight: 8, required: []),
    Kind(
      entity: "Equipment", key: "equipmentId", marker: "serialNumber", others: [("brand", texts)],
      references: [project, optional("roomId", "Room")], weight: 10, required: [required("type", .text("fan"))]),
    Kind(
      entity: "AtmosphericLog", key: "logId", marker: "photoUrl", others: [("temperature", numbers)],
      references: [project, optional("roomId", "Room"), optional("inletId", "AtmosphericLog")], weight: 20,
      required: [date, required("relativeHumidity", .real(50)), required("temperature", .real(70))]),
    Kind(
      entity: "MoistureLog", key: "logId", marker: "location", others: [("depth", texts)],
      references: [project, needed("roomId", "Room"), needed("materialId", "Material")], weight: 12,
      required: [date, required("moistureContent", .real(12))]),
    Kind(
      entity: "Note", key: "noteId", marker: "body", others: [("title", texts)],
      references: [project, optional("roomId", "Room")], weight: 8, required: []),
    // Not chosen at random, because its records have files.
    Kind(
      entity: "Photo", key: "photoId", marker: "fileName", others: [("remoteUrl", texts)],
      references: [
        project, optional("roomId", "Room"), optional("atmosphericLogId", "AtmosphericLog"),
        optional("moistureLogId", "MoistureLog"),
      ], weight: 0, required: []),
  ]

  // MARK: The simulation's own schemas

  static let references: [Kind] = [
    Kind(
      entity: "Region", key: "regionId", marker: "title", others: [("note", texts)],
      references: [optional("parentCode", "Region", "code")], weight: 8,
      required: [Required(column: "code", value: .uniqueText)]),
    Kind(
      entity: "Site", key: "siteId", marker: "title", others: [("note", texts)],
      references: [needed("regionCode", "Region", "code"), optional("leadId", "Visit")], weight: 12,
      required: [Required(column: "number", value: .uniqueInteger)]),
    Kind(
      entity: "Visit", key: "visitId", marker: "title", others: [("note", texts)],
      references: [needed("siteNumber", "Site", "number"), optional("previousUuid", "Visit", "uuid")], weight: 16,
      required: []),
  ]

  static let places: [Kind] = [
    Kind(
      entity: "Rack", key: "rackId", marker: "title", others: [("note", texts)], references: [], weight: 4,
      required: []),
    Kind(
      entity: "Crate", key: "crateId", marker: "title",
      others: [
        ("note", texts), ("shelf", texts + [.null]), ("place", (1...4).map { .integer($0) } + [.null]),
        ("label", texts + [.null]),
      ], references: [needed("rackId", "Rack")], weight: 16, required: [],
      swapped: [["shelf", "place"], ["rackId", "label"]]),
  ]

  static let values: [Kind] = [
    Kind(
      entity: "Batch", key: "batchId", marker: "title", others: [("amount", EdgeValues.reals)], references: [],
      weight: 4, required: []),
    Kind(
      entity: "Sample", key: "sampleId", marker: "title",
      others: [
        ("whole", EdgeValues.integers), ("amount", EdgeValues.reals), ("words", EdgeValues.texts),
        ("bytes", EdgeValues.blobs), ("document", EdgeValues.documents),
        (
          "anything",
          EdgeValues.integers + EdgeValues.reals + EdgeValues.texts + EdgeValues.blobs
        ),
      ], references: [optional("batchId", "Batch")], weight: 16, required: []),
  ]
}

/// Values at the limits of SQLite's types.
enum EdgeValues {
  static let integers: [SQLArgument] =
    [Int64.min, Int64.min + 1, -9_007_199_254_740_993, -1, 0, 1, 9_007_199_254_740_993, Int64.max].map { .integer($0) }
    + [.null]
  static let reals: [SQLArgument] =
    [
      Double.leastNonzeroMagnitude, Double.leastNormalMagnitude, -Double.greatestFiniteMagnitude,
      Double.greatestFiniteMagnitude, -0.0, 0.1 + 0.2, 1e15, 1e16, 9.007199254740993e15, 1e-7, 5e21,
    ].map { .real($0) } + [.null]
  static let texts: [SQLArgument] =
    [
      "", " ", "\u{0}", "a\u{0}b", String(repeating: "long ", count: 8_000), "\u{feff}\u{2028}\u{202e}",
      "\u{10ffff}é e\u{301}",
      "\"\\\n\r\t\u{1}\u{7f}", "null", "0123", "1e400",
    ].map { .text($0) } + [.null]
  static let blobs: [SQLArgument] =
    [[], [0], [0xff, 0xfe, 0], Array(0...255), [UInt8](repeating: 7, count: 20_000)].map { .blob($0) } + [.null]
  static let documents: [SQLArgument] =
    [
      "null", "0", "12345678901234567890", "{\"n\":-98765432109876543210}", "[1e30, 1.10, 100000000000000000001]", "{}",
      "[]",
      "\"\"", "{\"a\":{\"b\":[null,true,\"\\u00e9\"]}}", " [1 , 2] ",
    ].map { .text($0) } + [.null]
}
