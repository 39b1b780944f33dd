import Testing

@testable import SyncModel

/// Each message of `WireFormat.md`: its text, and that it reads back as what was written.
@Suite struct WireMessageTests {
  private let time: Int64 = 1_772_352_000_000

  private var record: RemoteRecord {
    RemoteRecord(
      entityType: "Room", entityUuid: "0195b2c0-0000-7000-8000-000000000001", serverId: 17, createdAt: time,
      state: RecordState(
        fields: ["title": "Kitchen", "level": .null, "squareFootage": .number(120.5)], syncVersion: 3,
        updatedAt: time + 1, editTimes: ["title": time], userEditedFields: ["title"]))
  }

  private func expect<Message: WireMessage & Equatable>(_ message: Message, _ text: String) throws {
    #expect(message.wire.json == text)
    #expect(try Message(json: message.jsonBytes) == message)
  }

  private let recordText =
    #"{"createdAt":"2026-03-01T08:00:00.000Z","editTimes":{"title":"2026-03-01T08:00:00.000Z"},"#
    + #""entityType":"Room","entityUuid":"0195b2c0-0000-7000-8000-000000000001","#
    + #""fields":{"level":null,"squareFootage":120.5,"title":"Kitchen"},"isDeleted":false,"serverId":17,"#
    + #""updatedAt":"2026-03-01T08:00:00.001Z","userEditedFields":["title"],"version":3}"#

  @Test func aRecord() throws {
    try expect(record, recordText)
  }

  @Test func aPageOfChanges() throws {
    try expect(
      ChangesPage(serverTime: time, changes: [record], cursor: "c7", hasMore: true, remaining: 12),
      #"{"changes":["# + recordText
        + #"],"cursor":"c7","hasMore":true,"remaining":12,"serverTime":"2026-03-01T08:00:00.000Z"}"#)
  }

  @Test func aPush() throws {
    let update = PushOperation(
      operationId: "op1", kind: .update, entityType: "Room", entityUuid: "u1", baseVersion: 2, schemaVersion: 8,
      patch: RecordPatch(
        fields: ["title": "Kitchen, wet"], isDeleted: false, userEditedFields: [], updatedAt: time),
      base: ["title": "Kitchen"])
    let delete = PushOperation(
      operationId: "op2", kind: .delete, entityType: "Room", entityUuid: "u2", baseVersion: 1, schemaVersion: 8,
      patch: RecordPatch(isDeleted: true, updatedAt: time))
    let create = PushOperation(
      operationId: "op3", kind: .create, entityType: "Room", entityUuid: "u3", baseVersion: 0, schemaVersion: 8,
      createdAt: time, patch: RecordPatch(fields: ["title": .null], updatedAt: time + 1, editTimes: ["title": time]))
    try expect(
      PushRequest(deviceId: "d", cursor: nil, operations: [update, delete, create]),
      #"{"deviceId":"d","operations":[{"base":{"title":"Kitchen"},"baseVersion":2,"entityType":"Room","#
        + #""entityUuid":"u1","fields":{"title":"Kitchen, wet"},"isDeleted":false,"operationId":"op1","#
        + #""operationType":"update","schemaVersion":8,"updatedAt":"2026-03-01T08:00:00.000Z","userEditedFields":[]},"#
        + #"{"baseVersion":1,"entityType":"Room","entityUuid":"u2","fields":{},"operationId":"op2","#
        + #""operationType":"delete","schemaVersion":8,"updatedAt":"2026-03-01T08:00:00.000Z"},"#
        + #"{"baseVersion":0,"createdAt":"2026-03-01T08:00:00.000Z","#
        + #""editTimes":{"title":"2026-03-01T08:00:00.000Z"},"entityType":"Room","entityUuid":"u3","#
        + #""fields":{"title":null},"operationId":"op3","operationType":"create","schemaVersion":8,"#
        + #""updatedAt":"2026-03-01T08:00:00.001Z"}]}"#)
  }

  @Test func theResultsOfAPush() throws {
    let problem = ServerProblem(
      type: "urn:example", title: "Not valid", status: 422, detail: "title is too long", field: "title")
    let results = [
      PushResult(operationId: "1", outcome: .accepted(version: 3, serverId: 17)),
      PushResult(operationId: "2", outcome: .accepted(version: 0, serverId: nil)),
      PushResult(
        operationId: "3", outcome: .merged(record, lost: [LostValue(field: "title", side: .remote, value: .null)])),
      PushResult(
        operationId: "4", outcome: .conflict(.concurrentEdit, fields: ["title"], record: record)),
      PushResult(operationId: "5", outcome: .conflict(.parentMissing, fields: ["roomId"], record: nil)),
      PushResult(operationId: "6", outcome: .rejected(problem)),
      PushResult(operationId: "7", outcome: .waiting(for: "6")),
    ]
    let texts = [
      #"{"operationId":"1","result":"accepted","serverId":17,"version":3}"#,
      #"{"operationId":"2","result":"accepted","version":0}"#,
      #"{"lost":[{"field":"title","side":"remote","value":null}],"operationId":"3","record":"# + recordText
        + #","result":"merged","serverId":17,"version":3}"#,
      #"{"conflict":{"fields":["title"],"kind":"concurrent_edit"},"operationId":"4","record":"# + recordText
        + #","result":"conflict"}"#,
      #"{"conflict":{"fields":["roomId"],"kind":"parent_missing"},"operationId":"5","record":null,"#
        + #""result":"conflict"}"#,
      #"{"operationId":"6","problem":{"detail":"title is too long","field":"title","status":422,"#
        + #""title":"Not valid","type":"urn:example"},"result":"rejected"}"#,
      #"{"operationId":"7","result":"waiting","waitsFor":"6"}"#,
    ]
    for (result, text) in zip(results, texts) { try expect(result, text) }
    try expect(
      PushAnswer(serverTime: time, cursor: "c", results: results),
      #"{"cursor":"c","results":["# + texts.joined(separator: ",")
        + #"],"serverTime":"2026-03-01T08:00:00.000Z"}"#)
  }

  @Test func theOtherAnswers() throws {
    try expect(
      ServerHealth(serverTime: time), #"{"protocol":1,"serverTime":"2026-03-01T08:00:00.000Z","service":"fieldvault"}"#)
    try expect(
      AccountInfo(
        serverUuid: "s", account: "water", user: "ada", serverTime: time,
        schemas: [AccountInfo.Schema(name: "restoration", version: 8)]),
      #"{"account":"water","schemas":[{"name":"restoration","version":8}],"#
        + #""serverTime":"2026-03-01T08:00:00.000Z","serverUuid":"s","service":"fieldvault","user":"ada"}"#)
    try expect(WatchAnswer(changed: true), #"{"changed":true}"#)
    try expect(
      EntityDigests(serverTime: time, cursor: "c", entities: ["Room": DigestSummary(count: 12, digest: "aa")]),
      #"{"cursor":"c","entities":{"Room":{"count":12,"digest":"aa"}},"serverTime":"2026-03-01T08:00:00.000Z"}"#)
    try expect(
      BucketDigests(buckets: ["0f": DigestSummary(count: 1, digest: "bb")]),
      #"{"buckets":{"0f":{"count":1,"digest":"bb"}}}"#)
    try expect(
      RecordDigests(records: [RecordDigest(entityUuid: "u", version: 3, digest: "cc")]),
      #"{"records":[{"digest":"cc","entityUuid":"u","version":3}]}"#)
    try expect(RecordsRequest(entityType: "Room", uuids: ["u"]), #"{"entityType":"Room","uuids":["u"]}"#)
    try expect(
      RecordsAnswer(changes: [record], missing: ["v"]), #"{"changes":["# + recordText + #"],"missing":["v"]}"#)
  }
}
