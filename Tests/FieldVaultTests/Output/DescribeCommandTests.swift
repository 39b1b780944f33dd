import Foundation
import Testing

@Suite("describe")
struct DescribeCommandTests {
  @Test("describe lists the entities with the number of their fields and their policy")
  func entitiesAreListed() throws {
    let shop = try Workshop()
    let rows = try shop.done("describe", "--json").rows()
    let room = try #require(rows.first { $0["entityType"] as? String == "Room" })
    #expect(room["table"] as? String == "OfflineRoom")
    #expect(room["fields"] as? Int == 8)
    #expect(room["policy"] as? String == "last_write_wins")
    let lines = try shop.done("describe").lines
    #expect(lines.count == rows.count + 1)
    #expect(lines.contains { $0.hasPrefix("Room") && $0.hasSuffix("last write wins") }, "\(lines)")
  }

  @Test("describe ENTITY lists type, unit and rule of each field")
  func fieldsAreDescribed() throws {
    let shop = try Workshop()
    let rows = try shop.done("describe", "OfflineRoom", "--json").rows()
    func field(_ name: String) throws -> [String: Any] { try #require(rows.first { $0["name"] as? String == name }) }
    let title = try field("title")
    #expect(title["type"] as? String == "text")
    #expect(title["rule"] as? String == "NOT NULL; CHECK (length(trim(title)) > 0)")
    #expect(title["unit"] is NSNull)
    let project = try field("projectId")
    #expect(project["type"] as? String == "reference")
    #expect(project["references"] as? String == "Project")
    #expect(project["rule"] as? String == "NOT NULL; references Project")
    #expect(try field("squareFootage")["unit"] as? String == "sq ft")
    #expect(try field("isAccessible")["type"] as? String == "bool")
    #expect(try field("isAccessible")["rule"] as? String == "NOT NULL; DEFAULT 1")
    #expect(try field("createdAt")["rule"] as? String == "set by FieldVault")
    #expect(try field("createdAt")["settable"] as? Bool == false)
    let status = try #require(
      try shop.done("describe", "Project", "--json").rows().first { $0["name"] as? String == "status" })
    #expect(status["type"] as? String == "choice")
    #expect((status["values"] as? [String])?.contains("active") == true)
    let text = try shop.done("describe", "Room").output
    #expect(text.contains("squareFootage  number     sq ft"), "\(text)")
    let wrong = try shop.run("describe", "Rom")
    #expect(wrong.status == 4)
    #expect(wrong.errors.contains("did you mean 'Room'?"))
  }
}
