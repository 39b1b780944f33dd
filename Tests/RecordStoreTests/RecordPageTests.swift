import CipherSQL
import Foundation
import RestorationModel
import StoreSupport
import TestSupport
import Testing
import VaultStore

@testable import RecordStore

/// Pages of records, in the order of any field.
@Suite struct RecordPageTests {
  private let database: Database
  private let entity: Entity

  init() throws {
    let (database, entities) = try restorationDatabase()
    (self.database, entity) = (database, try entities.entity("Room"))
  }

  private func fill(_ count: Int, _ random: inout Seeded) throws {
    let entities = try database.read { try Entities.read(from: $0) }
    let values = (0..<count).map { _ in
      (
        level: random.chance(0.3) ? nil : random.pick(["1", "2", "a", "B"]),
        size: random.chance(0.3) ? nil : random.pick([1.5, 2, 900])
      )
    }
    try database.write { connection in
      let writer = RecordWriter(connection, entities: entities)
      let project = try writer.put(try entities.entity("Project"), [("title", .text("p"))])
      let location = try writer.put(
        try entities.entity("Location"),
        [("projectId", .text(project.sqlText)), ("type", .text("building")), ("title", .text("l"))])
      for (index, value) in values.enumerated() {
        var fields: [(name: String, value: FieldInput)] = [
          ("projectId", .text(project.sqlText)), ("locationId", .text(location.sqlText)),
          ("title", .text("room \(index % 7)")),
        ]
        if let level = value.level { fields.append(("level", .text(level))) }
        if let size = value.size { fields.append(("squareFootage", .text("\(size)"))) }
        _ = try writer.put(entity, fields)
      }
    }
  }

  private func uuids(_ request: RecordPageRequest) throws -> [UUID] {
    let place = try #require(entity.shownColumns.firstIndex { $0.name == "uuid" })
    var found: [UUID] = []
    try database.read { connection in
      try RecordReader(connection).forEach(entity, page: request) {
        found.append(try $0.decode(UUID.self, at: Int32(place)))
      }
    }
    return found
  }

  @Test("The pages of any order, one behind the other, are all records in that order")
  func allPages() throws {
    var random = Seeded()
    try fill(60, &random)
    for field in [nil, "roomId", "title", "level", "squareFootage", "uuid"] {
      for isDescending in [false, true] {
        var request = RecordPageRequest()
        (request.order, request.isDescending, request.limit) = (field, isDescending, random.number(1..<12))
        var pages: [UUID] = []
        while true {
          let page = try uuids(request)
          pages += page
          guard page.count == request.limit, let last = page.last else { break }
          request.after = last
        }
        let direction = isDescending ? " DESC" : ""
        let all = try database.read {
          try $0.fetch(
            SQL(raw: "SELECT uuid FROM OfflineRoom ORDER BY \(field ?? "roomId")\(direction), roomId\(direction)"),
            as: UUID.self)
        }
        #expect(pages == all, "\(field ?? "no field") \(isDescending)")
      }
    }
  }

  @Test(
    "Filters select the records for which they are true",
    arguments: [
      (RecordPageRequest.Filter("level", .equals, "a"), "level = 'a'"),
      (.init("level", .differs, "a"), "level IS NOT 'a'"),
      (.init("squareFootage", .atLeast, "2"), "squareFootage >= 2"),
      (.init("squareFootage", .atMost, "2"), "squareFootage <= 2"),
      (.init("title", .contains, "oom 3"), "title LIKE '%oom 3%'"),
      (.init("title", .begins, "room 4"), "title LIKE 'room 4%'"),
      (.init("level", .isEmpty, ""), "level IS NULL"), (.init("level", .hasValue, ""), "level IS NOT NULL"),
      (.init("title", .contains, "%"), "0"), (.init("title", .begins, "_"), "0"),
    ])
  func filters(_ filter: RecordPageRequest.Filter, _ condition: String) throws {
    var random = Seeded(7)
    try fill(40, &random)
    var request = RecordPageRequest()
    (request.filters, request.limit) = ([filter], 100)
    let expected = try database.read {
      try $0.fetch(SQL(raw: "SELECT uuid FROM OfflineRoom WHERE \(condition) ORDER BY roomId"), as: UUID.self)
    }
    #expect(try uuids(request) == expected)
  }

  @Test("Wrong filters and positions are refused by name")
  func refusals() throws {
    func code(_ change: (inout RecordPageRequest) -> Void) -> VaultError.Code? {
      var request = RecordPageRequest()
      change(&request)
      do {
        _ = try uuids(request)
        return nil
      } catch {
        return (error as? VaultError)?.code
      }
    }
    #expect(code { $0.order = "color" } == .noSuchField)
    #expect(code { $0.filters = [.init("color", .equals, "1")] } == .noSuchField)
    #expect(code { $0.filters = [.init("squareFootage", .equals, "big")] } == .badValue)
    #expect(code { $0.after = UUID() } == .noSuchRecord)
  }

  @Test("A page of any depth in the order of an indexed field reads no other records")
  func plans() throws {
    var request = RecordPageRequest()
    var random = Seeded(3)
    try fill(3, &random)
    request.after = try uuids(request).first
    try database.write { try $0.execute("CREATE INDEX level_test ON OfflineRoom (level)") }
    for field in [nil, "level"] {
      request.order = field
      let plans = try database.read { connection in
        try RecordReader(connection).parts(of: request, entity).flatMap { part in
          try connection.fetchRows("EXPLAIN QUERY PLAN " + part, as: Int.self, Int.self, Int.self, String.self).map(\.3)
        }
      }
      #expect(!plans.isEmpty)
      #expect(plans.allSatisfy { $0.hasPrefix("SEARCH") }, "\(plans)")
    }
  }
}
