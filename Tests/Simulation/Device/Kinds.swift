import CipherSQL
import GeneratedSchemas

/// The kinds of the hand-written schemas.
extension Kind {
  /// A kind whose table has the name of its entity.
  private init(
    entity: String, key: String, marker: String, others: [(column: String, values: [SQLArgument])],
    references: [Reference], weight: Int, required: [Required], swapped: [[String]] = []
  ) {
    self.init(
      entity: entity, table: "Offline" + entity, key: key, marker: marker, others: others, references: references,
      weight: weight, required: required, swapped: swapped)
  }

  private static let texts: [SQLArgument] = ["a", "b", "c"].map { .text($0) }
  private static let numbers: [SQLArgument] = [.real(1.5), .real(20), .real(63.25)]
  private static let date = Required(column: "date", value: .fixed(.text("2026-03-01T08:00:00.000Z")))
  private static let project = Reference(["projectId"], "Project", isOptional: false)

  private static func optional(_ column: String, _ entity: String, _ target: String? = nil) -> Reference {
    Reference([column], entity, isOptional: true, targets: target.map { [$0] })
  }

  private static func needed(_ column: String, _ entity: String, _ target: String? = nil) -> Reference {
    Reference([column], entity, isOptional: false, targets: target.map { [$0] })
  }

  private static func required(_ column: String, _ value: SQLArgument) -> Required {
    Required(column: column, value: .fixed(value))
  }

  // MARK: The shipped schema

  static let restorationKinds: [Kind] = [
    Kind(
      entity: "Project", key: "projectId", marker: "title",
      others: [("projectNumber", texts), ("status", ["active", "completed", "active"].map { .text($0) })],
      references: [],
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

  static let referenceKinds: [Kind] = [
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

  static let placeKinds: [Kind] = [
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

  /// Kinds with projects whose records only their crews see.
  static let crewKinds: [Kind] = [
    Kind(
      entity: "Worker", key: "workerId", marker: "name", others: [("note", texts)], references: [], weight: 3,
      required: []),
    Kind(
      entity: "Project", key: "projectId", marker: "title", others: [("note", texts)],
      references: [optional("leadId", "Worker")], weight: 4, required: []),
    Kind(
      entity: "Crew", key: "crewId", marker: "duty", others: [("note", texts)],
      references: [project, needed("workerId", "Worker")], weight: 8, required: []),
    Kind(
      entity: "Task", key: "taskId", marker: "title", others: [("note", texts)],
      references: [project, optional("previousId", "Task")], weight: 12, required: []),
    Kind(
      entity: "Part", key: "partId", marker: "title", others: [("note", texts)],
      references: [needed("taskId", "Task"), optional("workerId", "Worker")], weight: 14, required: []),
  ]

  static let valueKinds: [Kind] = [
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
