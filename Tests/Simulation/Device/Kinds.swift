import CipherSQL

/// The kinds of record that the simulation works with.
struct Kind: Sendable {
  let entity: String
  let key: String
  /// A text column that gets a value which is never used again.
  let marker: String
  /// Another column, and values for it.
  let other: String
  let values: [SQLArgument]
  /// Columns that refer to another kind; those without a question mark must have a value.
  let references: [(column: String, entity: String, isOptional: Bool)]
  /// How often it is chosen.
  let weight: Int
  /// Columns without which no record can be made.
  let required: [(column: String, value: SQLArgument)]

  var table: String { "Offline" + entity }

  static func named(_ entity: String) -> Kind? { all.first { $0.entity == entity } }

  private static let texts: [SQLArgument] = ["a", "b", "c"].map { .text($0) }
  private static let numbers: [SQLArgument] = [.real(1.5), .real(20), .real(63.25)]
  private static let date = ("date", SQLArgument.text("2026-03-01T08:00:00.000Z"))
  private static let project = ("projectId", "Project", false)

  static let all: [Kind] = [
    Kind(
      entity: "Project", key: "projectId", marker: "title", other: "projectNumber", values: texts, references: [],
      weight: 10, required: []),
    Kind(
      entity: "Location", key: "locationId", marker: "title", other: "type",
      values: ["unit", "floor", "building"].map { .text($0) },
      references: [project, ("parentLocationId", "Location", true)], weight: 14, required: []),
    Kind(
      entity: "Room", key: "roomId", marker: "title", other: "level", values: texts,
      references: [project, ("locationId", "Location", true)], weight: 18, required: []),
    Kind(
      entity: "Material", key: "materialId", marker: "name", other: "dryStandard", values: numbers, references: [],
      weight: 8, required: []),
    Kind(
      entity: "Equipment", key: "equipmentId", marker: "serialNumber", other: "brand", values: texts,
      references: [project, ("roomId", "Room", true)], weight: 10, required: [("type", .text("fan"))]),
    Kind(
      entity: "AtmosphericLog", key: "logId", marker: "photoUrl", other: "temperature", values: numbers,
      references: [project, ("roomId", "Room", true), ("inletId", "AtmosphericLog", true)], weight: 20,
      required: [date, ("relativeHumidity", .real(50)), ("temperature", .real(70))]),
    Kind(
      entity: "MoistureLog", key: "logId", marker: "location", other: "depth", values: texts,
      references: [project, ("roomId", "Room", false), ("materialId", "Material", false)], weight: 12,
      required: [date, ("moistureContent", .real(12))]),
    Kind(
      entity: "Note", key: "noteId", marker: "body", other: "title", values: texts,
      references: [project, ("roomId", "Room", true)], weight: 8, required: []),
    // Not chosen like the others: those that are made have a file.
    Kind(
      entity: "Photo", key: "photoId", marker: "fileName", other: "remoteUrl", values: texts,
      references: [
        project, ("roomId", "Room", true), ("atmosphericLogId", "AtmosphericLog", true),
        ("moistureLogId", "MoistureLog", true),
      ], weight: 0, required: []),
  ]

  static func random(_ random: inout Seeded) -> Kind {
    var number = random.number(0..<all.reduce(0) { $0 + $1.weight })
    for kind in all {
      number -= kind.weight
      if number < 0 { return kind }
    }
    return all[0]
  }
}
