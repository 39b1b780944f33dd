import SyncModel
import Testing

/// The lines and files of an export that is read page by page.
@Suite struct AccountExportTests {
  private let content = "0190a5b2-7c3d-7e4f-8a1b-2c3d4e5f6071"

  private func record(
    _ uuid: String, version: Int64 = 1, isDeleted: Bool = false, _ fields: SyncObject = ["title": "Elm"],
    type: String = "Room"
  ) -> RemoteRecord {
    RemoteRecord(
      entityType: type, entityUuid: uuid, serverId: .integer(1), createdAt: 0,
      state: RecordState(
        fields: fields, isDeleted: isDeleted, syncVersion: version, updatedAt: 1_000, editTimes: [:],
        userEditedFields: []))
  }

  private func page(_ records: [RemoteRecord], late: Int64 = 0) -> AccountExportPage {
    AccountExportPage(
      ChangesPage(serverTime: 0, epoch: "e", changes: records, cursor: "c", hasMore: false, remaining: 0), late: late)
  }

  private func kept(_ export: AccountExport, _ lines: [AccountExport.Line]) throws -> [String] {
    try lines.filter { try export.keeps(Array($0.text.utf8), of: $0.file) }.map(\.text)
  }

  @Test("A record is one line of the file of its entity, with the names of its columns") func lines() throws {
    var export = AccountExport()
    let lines = export.take(page([record("a"), record("b", type: "Odd/ name")]))
    #expect(lines.map(\.file) == ["Room.ndjson", "Odd-2f-20name.ndjson"])
    #expect(
      try SyncValue(parsing: lines[0].text) == [
        "uuid": "a", "title": "Elm", "syncVersion": 1, "createdAt": "1970-01-01T00:00:00.000Z",
        "updatedAt": "1970-01-01T00:00:01.000Z",
      ])
    #expect(export.filesToFilter == [] && export.files == [])
  }

  @Test("A record that changes during the export is kept in its newest version only, and a deleted one not at all")
  func lateRecords() throws {
    var export = AccountExport()
    var lines = export.take(page([record("a"), record("b"), record("c")]))
    lines += export.take(
      page([record("d"), record("a", version: 2), record("b", version: 2, isDeleted: true)], late: 2))
    lines += export.take(page([record("a", version: 3), record("e")], late: 2))
    #expect(export.filesToFilter == ["Room.ndjson"])
    let kept = try kept(export, lines).map { try SyncValue(parsing: $0) }
    let names = kept.map { value -> String in
      guard case .object(let object) = value, case .text(let uuid)? = object["uuid"],
        case .integer(let version)? = object["syncVersion"]
      else { return "?" }
      return "\(uuid)\(version)"
    }
    #expect(names == ["c1", "d1", "a3", "e1"])
  }

  @Test("Files are named by their content, and a name chooses nothing but a plain extension") func files() throws {
    var export = AccountExport()
    for (name, _) in [("a.JPG", ".jpg"), ("../../x.j/../pg", ""), ("none", "")] {
      _ = export.take(
        page([record("a", ["contentUuid": .text(content), "contentKey": "AAAA", "fileName": .text(name)])]))
    }
    #expect(export.files.map(\.name) == [content, "\(content).jpg", "\(content).thumbnail.jpg"])
    #expect(export.files.allSatisfy { $0.contentUuid == content && $0.key == "AAAA" })
    var other = AccountExport()
    _ = other.take(page([record("a", ["contentUuid": "../../../../etc/passwd-0000000000000"])]))
    #expect(other.files == [], "a server cannot choose a path")
  }

  @Test("A page of an export is read back as it was written") func wire() throws {
    let page = page([record("a")], late: 1)
    #expect(try AccountExportPage(wire: page.wire) == page)
  }
}
