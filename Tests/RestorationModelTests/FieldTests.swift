import CipherSQL
import VaultStore
import Testing

@testable import RestorationModel

/// The tables have the fields that the requirements name, with the types, words and references that they name.
@Suite struct FieldTests {
  private let catalog: Catalog
  private let entities: [SyncedEntity]

  init() throws {
    let database = try Database.inMemory()
    try Migrator(schemas: [CoreSchema.schema, RestorationSchema.schema]).apply(to: database)
    (catalog, entities) = try database.read { (try Catalog.read(from: $0), try SyncedEntity.all.fetch($0)) }
  }

  /// A column as a line: name and type, `?` where it may be NULL, and the table that it refers to.
  private func line(_ column: Catalog.Column, of table: Catalog.Table) -> String {
    let type =
      switch column.type {
      case .enumeration(let words): words.joined(separator: "|")
      default: "\(column.type)"
      }
    let reference = table.foreignKeys.first { $0.columns.first?.from == column.name }
    return "\(column.name): \(type)\(column.isNotNull ? "" : "?")"
      + (reference.map { " -> \($0.table)\($0.onDelete == .cascade ? " cascade" : "")" } ?? "")
  }

  private static let photoState = "photoUploadStatus: none|pending|uploading|completed|failed"
  private static let project = "projectId: integer -> OfflineProject cascade"

  @Test(
    "An entity has its required fields",
    arguments: [
      (
        "Project",
        [
          "title: text", "projectNumber: text?", "status: active|completed|archived",
          "propertyType: residential|commercial|multi-unit?", "companyId: integer? -> OfflineCompany",
          "propertyId: integer? -> OfflineProperty",
        ]
      ),
      ("ProjectCrew", [project, "userId: integer -> OfflineUser cascade"]),
      (
        "Room",
        [
          project, "locationId: integer? -> OfflineLocation cascade", "title: text", "roomType: text?", "level: text?",
          "squareFootage: real", "isAccessible: bool",
        ]
      ),
      (
        "AtmosphericLog",
        [
          project, "roomId: integer? -> OfflineRoom cascade", "date: timestamp", "relativeHumidity: real",
          "temperature: real", "dewPoint: real?", "gpp: real?", "pressure: real?", "windSpeed: real?",
          "isExternal: bool", "isInlet: bool", "inletId: integer? -> OfflineAtmosphericLog", "photoUrl: text?",
          "photoLocalPath: text?", photoState, "photoAssemblyId: text?",
        ]
      ),
      (
        "Photo",
        [
          project, "roomId: integer? -> OfflineRoom cascade", "albumId: integer? -> OfflineAlbum", "fileName: text",
          "localPath: text", "remoteUrl: text?", "thumbnailUrl: text?",
          "uploadStatus: pending|uploading|completed|failed", "assemblyId: text?", "tusUploadId: text?",
          "fileSize: integer", "width: integer?", "height: integer?", "mimeType: text", "capturedAt: timestamp",
          "atmosphericLogId: integer? -> OfflineAtmosphericLog cascade",
          "moistureLogId: integer? -> OfflineMoistureLog cascade",
        ]
      ),
      (
        "Location",
        [
          project, "title: text", "type: unit|floor|building",
          "parentLocationId: integer? -> OfflineLocation cascade", "isAccessible: bool",
        ]
      ),
      (
        "Equipment",
        [
          project, "roomId: integer? -> OfflineRoom cascade", "brand: text?", "model: text?", "serialNumber: text?",
          "quantity: integer", "status: active|removed|damaged", "startDate: timestamp?", "endDate: timestamp?",
        ]
      ),
      (
        "MoistureLog",
        [
          project, "roomId: integer -> OfflineRoom cascade", "materialId: integer -> OfflineMaterial",
          "date: timestamp", "moistureContent: real", "location: text?", "depth: text?", "photoUrl: text?",
          "photoLocalPath: text?", photoState,
        ]
      ),
      ("Company", ["name: text"]),
      (
        "User",
        [
          "email: text", "firstName: text?", "lastName: text?", "role: text?", "companyId: integer? -> OfflineCompany",
        ]
      ),
      (
        "Property",
        [
          "address: text", "city: text?", "state: text?", "zipCode: text?", "latitude: real?", "longitude: real?",
        ]
      ),
      ("Damage", [project, "roomId: integer -> OfflineRoom cascade", "title: text", "description: text?"]),
      ("WorkScope", [project, "roomId: integer -> OfflineRoom cascade", "title: text", "description: text?"]),
      ("Album", [project, "title: text"]),
      ("Note", [project, "body: text"]),
      ("Material", ["name: text", "dryStandard: real?"]),
    ])
  func fields(_ type: String, _ required: [String]) throws {
    let table = try #require(catalog.table("Offline" + type))
    let lines = table.columns.map { line($0, of: table) }
    for field in required { #expect(lines.contains(field), "\(field) is not among \(lines)") }
  }

  @Test("Equipment has kinds, dehumidifiers and air movers among them")
  func kindsOfEquipment() throws {
    let type = try #require(catalog.table("OfflineEquipment")?.column("type"))
    guard case .enumeration(let kinds) = type.type else {
      Issue.record("\(type.type) is no list of kinds")
      return
    }
    #expect(Set(kinds).isSuperset(of: ["dehumidifier", "air_mover"]) && type.isNotNull)
  }

  @Test("Every entity is named Offline and its type, and has the required identity, state of sync and times")
  func commonFields() throws {
    #expect(entities.count == 16)
    for entity in entities {
      #expect(entity.tableName == "Offline" + entity.entityType)
      let table = try #require(catalog.table(entity.tableName))
      let key = try #require(table.columns.first)
      // Both kinds of readings call their key `logId`.
      let name = entity.entityType.prefix(1).lowercased() + entity.entityType.dropFirst() + "Id"
      #expect(key.isRowID && [name, "logId"].contains(key.name), "\(key.name)")
      #expect(table.uniqueKeys.contains(["uuid"]))
      let lines = table.columns.map { line($0, of: table) }
      for field in [
        "serverId: integer?", "uuid: uuid", "syncStatus: pending|syncing|synced|conflict|failed",
        "syncVersion: integer", "isDirty: bool", "isDeleted: bool", "createdAt: timestamp", "updatedAt: timestamp",
        "lastSyncedAt: timestamp?",
      ] { #expect(lines.contains(field), "\(table.name): \(field) is not among \(lines)") }
    }
  }

  @Test("Priorities are 0 for account data, 1 for projects, 2 for readings and equipment, 3 for photos")
  func priorities() {
    let priority = Dictionary(uniqueKeysWithValues: entities.map { ($0.entityType, $0.defaultPriority) })
    for (type, expected) in [
      ("Company", 0), ("User", 0), ("Project", 1), ("AtmosphericLog", 2), ("MoistureLog", 2), ("Equipment", 2),
      ("Photo", 3),
    ] as [(String, Int64)] { #expect(priority[type] == expected, "\(type)") }
  }
}
