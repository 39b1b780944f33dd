import Testing

@testable import SyncModel

/// Pages whose records have stored fields: the same bytes as those of parsed records.
@Suite struct RecordTextTests {
  private static let words = [
    "", "a", "é", "e\u{301}", "quote\"", "back\\slash", "{\"a\":[1,2]}", "\u{1}", "😀", "a,b:c",
  ]

  private static func record(_ fields: SyncObject, _ random: inout Randomness) -> RemoteRecord {
    let isDeleted = random.chance(0.3)
    return RemoteRecord(
      entityType: "Room", entityUuid: "0190a5b2-7c3d-7e4f-8a1b-2c3d4e5f6071", serverId: .integer(7), createdAt: 5,
      state: RecordState(
        fields: fields, isDeleted: isDeleted, syncVersion: 3, updatedAt: 1_700_000_000_123,
        editTimes: random.chance(0.3) ? ["title": 9] : [:], userEditedFields: random.chance(0.3) ? ["title"] : []),
      deletedWith: isDeleted ? RecordReference(entityType: "Project", entityUuid: "u") : nil)
  }

  private static func page(_ changes: [RemoteRecord]) -> ChangesPage {
    ChangesPage(
      serverTime: 12, epoch: "e", changes: changes, cursor: "c", hasMore: true, remaining: 4, removedProjects: ["p"])
  }

  @Test("A page of stored fields has the bytes of a page of records") func equalBytes() throws {
    var random = Randomness()
    for _ in 0..<300 { try check(&random) }
  }

  private func check(_ random: inout Randomness) throws {
    let seed = random.seed
    var records: [RemoteRecord] = []
    var texts: [RecordText] = []
    for _ in 0..<random.pick([0, 1, 3]) {
      let names = SyncObject(Self.words.filter { _ in random.chance(0.6) }.map { ($0, .null) }).names
      let others = Self.words.filter { _ in random.chance(0.6) }
      let stored = SyncObject(others.map { ($0, random.value()) }).filter { $0.value != .null }
      var record = Self.record(SyncObject(names.map { ($0, stored[$0] ?? .null) }), &random)
      records.append(record)
      record.state.fields = [:]
      texts.append(RecordText(record: record, fields: SyncValue.object(stored).json, names: MemberNames(names)))
    }
    let json = try Self.page([]).json(with: texts)
    #expect(String(decoding: json, as: UTF8.self) == Self.page(records).wire.json, "seed \(seed)")
    #expect(try texts.map { try $0.complete() } == records, "seed \(seed)")
  }

  @Test(
    "Damaged stored fields are an error",
    arguments: [
      "", "{", "[]", "null", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":}", "{\"a\":1}}", "{\"a\":1}x", "{\"a\":\"",
      "{\"a\":\"\\",
      "{\"a\":[1}", "{a:1}", "{\"a\" :1}", "{\"a\":1,}", "{,}", "{\"a\":{\"b\":1}", " {}",
    ])
  func damage(text: String) {
    var random = Randomness()
    let record = RecordText(record: Self.record([:], &random), fields: text, names: MemberNames(["a", "b"]))
    #expect(throws: SyncModelError.self) { try record.complete() }
    #expect(throws: SyncModelError.self, "\(text)") { try Self.page([]).json(with: [record]) }
  }
}
