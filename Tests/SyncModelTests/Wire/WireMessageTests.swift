import Testing

@testable import SyncModel

/// Each message of `WireFormat.md`: its text, and that parsing the text returns the message.
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

  @Test("A record is encoded and decoded as documented") func aRecord() throws {
    try expect(record, recordText)
  }

  @Test("A deleted record names the root of the deletion, and a device of another epoch learns the shared version")
  func deletedRecord() throws {
    var deleted = record
    deleted.state = RecordState(fields: [:], isDeleted: true, syncVersion: 4, updatedAt: time)
    deleted.deletedWith = RecordReference(entityType: "Location", entityUuid: "l1")
    deleted.sharedVersion = 3
    deleted.keepsUserEditedFields = false
    try expect(
      deleted,
      #"{"createdAt":"2026-03-01T08:00:00.000Z","deletedWith":{"entityType":"Location","entityUuid":"l1"},"#
        + #""entityType":"Room","entityUuid":"0195b2c0-0000-7000-8000-000000000001","fields":{},"isDeleted":true,"#
        + #""serverId":17,"sharedVersion":3,"updatedAt":"2026-03-01T08:00:00.000Z","version":4}"#)
  }

  @Test("A page of changes is encoded and decoded as documented") func aPageOfChanges() throws {
    try expect(
      ChangesPage(
        serverTime: time, epoch: "e1", changes: [record], cursor: "c7", hasMore: true, remaining: 12,
        removedProjects: ["p1"]),
      #"{"changes":["# + recordText
        + #"],"cursor":"c7","epoch":"e1","hasMore":true,"remaining":12,"removedProjects":["p1"],"#
        + #""serverTime":"2026-03-01T08:00:00.000Z"}"#)
  }

  @Test("A push is encoded and decoded as documented") func aPush() throws {
    let update = PushOperation(
      operationId: "op1", idempotencyKey: "k1", kind: .update, entityType: "Room", entityUuid: "u1", baseVersion: 2,
      baseEpoch: "e1", schemaVersion: 8,
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
      PushRequest(deviceId: "d", deviceCounter: 7, cursor: nil, operations: [update, delete, create]),
      #"{"deviceCounter":7,"deviceId":"d","operations":[{"base":{"title":"Kitchen"},"baseEpoch":"e1","#
        + #""baseVersion":2,"entityType":"Room","entityUuid":"u1","fields":{"title":"Kitchen, wet"},"#
        + #""idempotencyKey":"k1","isDeleted":false,"operationId":"op1","#
        + #""operationType":"update","schemaVersion":8,"updatedAt":"2026-03-01T08:00:00.000Z","userEditedFields":[]},"#
        + #"{"baseVersion":1,"entityType":"Room","entityUuid":"u2","fields":{},"operationId":"op2","#
        + #""operationType":"delete","schemaVersion":8,"updatedAt":"2026-03-01T08:00:00.000Z"},"#
        + #"{"baseVersion":0,"createdAt":"2026-03-01T08:00:00.000Z","#
        + #""editTimes":{"title":"2026-03-01T08:00:00.000Z"},"entityType":"Room","entityUuid":"u3","#
        + #""fields":{"title":null},"operationId":"op3","operationType":"create","schemaVersion":8,"#
        + #""updatedAt":"2026-03-01T08:00:00.001Z"}]}"#)
  }

  @Test("Each result of a push is encoded and decoded as documented") func theResultsOfAPush() throws {
    let problem = ServerProblem(
      type: "urn:example", title: "Not valid", status: 422, detail: "title is too long", field: "title")
    let results = [
      PushResult(operationId: "1", outcome: .accepted(version: 3, serverId: 17)),
      PushResult(operationId: "2", outcome: .accepted(version: 0, serverId: nil)),
      PushResult(
        operationId: "8",
        outcome: .accepted(
          version: 3, serverId: 17,
          times: RecordTimes(createdAt: time, updatedAt: time + 1, editTimes: ["title": time]))),
      PushResult(
        operationId: "3",
        outcome: .merged(record, lost: [OverwrittenValue(field: "title", side: .remote, value: .null)])),
      PushResult(
        operationId: "4", outcome: .conflict(.concurrentEdit, fields: ["title"], record: record)),
      PushResult(operationId: "5", outcome: .conflict(.parentMissing, fields: ["roomId"], record: nil)),
      PushResult(
        operationId: "9",
        outcome: .conflict(
          .notUnique, fields: ["title"], record: nil,
          other: RecordReference(entityType: "Room", entityUuid: "00000000-0000-7000-8000-000000000001"))),
      PushResult(operationId: "6", outcome: .rejected(problem)),
      PushResult(operationId: "7", outcome: .waiting(for: "6")),
    ]
    let texts = [
      #"{"operationId":"1","result":"accepted","serverId":17,"version":3}"#,
      #"{"operationId":"2","result":"accepted","version":0}"#,
      #"{"createdAt":"2026-03-01T08:00:00.000Z","editTimes":{"title":"2026-03-01T08:00:00.000Z"},"#
        + #""operationId":"8","result":"accepted","serverId":17,"updatedAt":"2026-03-01T08:00:00.001Z","version":3}"#,
      #"{"lost":[{"field":"title","side":"remote","value":null}],"operationId":"3","record":"# + recordText
        + #","result":"merged","serverId":17,"version":3}"#,
      #"{"conflict":{"fields":["title"],"kind":"concurrent_edit"},"operationId":"4","record":"# + recordText
        + #","result":"conflict"}"#,
      #"{"conflict":{"fields":["roomId"],"kind":"parent_missing"},"operationId":"5","record":null,"#
        + #""result":"conflict"}"#,
      #"{"conflict":{"fields":["title"],"kind":"not_unique","other":{"entityType":"Room","#
        + #""entityUuid":"00000000-0000-7000-8000-000000000001"}},"operationId":"9","record":null,"result":"conflict"}"#,
      #"{"operationId":"6","problem":{"detail":"title is too long","field":"title","status":422,"#
        + #""title":"Not valid","type":"urn:example"},"result":"rejected"}"#,
      #"{"operationId":"7","result":"waiting","waitsFor":"6"}"#,
    ]
    for (result, text) in zip(results, texts) { try expect(result, text) }
    try expect(
      PushResponse(serverTime: time, epoch: "e1", cursor: "c", results: results),
      #"{"cursor":"c","epoch":"e1","results":["# + texts.joined(separator: ",")
        + #"],"serverTime":"2026-03-01T08:00:00.000Z"}"#)
  }

  @Test("Each other response is encoded and decoded as documented") func otherResponses() throws {
    try expect(
      ServerHealth(serverTime: time), #"{"protocol":2,"serverTime":"2026-03-01T08:00:00.000Z","service":"fieldvault"}"#)
    try expect(
      AccountInfo(
        serverUuid: "s", epoch: "e1", account: "water", user: "ada", role: .service, serverTime: time,
        schemas: [AccountInfo.Schema(name: "restoration", version: 8)]),
      #"{"account":"water","epoch":"e1","protocol":2,"role":"service","schemas":[{"name":"restoration","version":8}],"#
        + #""serverTime":"2026-03-01T08:00:00.000Z","serverUuid":"s","service":"fieldvault","user":"ada"}"#)
    try expect(WatchResponse(changed: true), #"{"changed":true}"#)
    try expect(WatchResponse(changed: false, cursor: "c2"), #"{"changed":false,"cursor":"c2"}"#)
    try expect(
      EntityDigests(
        serverTime: time, epoch: "e1", cursor: "c", entities: ["Room": DigestSummary(count: 12, digest: "aa")]),
      #"{"cursor":"c","entities":{"Room":{"count":12,"digest":"aa"}},"epoch":"e1","serverTime":"2026-03-01T08:00:00.000Z"}"#
    )
    try expect(
      BucketDigests(epoch: "e1", buckets: ["0f": DigestSummary(count: 1, digest: "bb")]),
      #"{"buckets":{"0f":{"count":1,"digest":"bb"}},"epoch":"e1"}"#)
    try expect(
      BucketDigests(epoch: "e1", buckets: [:], bucketLimit: 64), #"{"bucketLimit":64,"buckets":{},"epoch":"e1"}"#)
    try expect(
      RecordDigests(epoch: "e1", records: [RecordDigest(entityUuid: "u", version: 3, digest: "cc")]),
      #"{"epoch":"e1","records":[{"digest":"cc","entityUuid":"u","version":3}]}"#)
    try expect(RecordsRequest(entityType: "Room", uuids: ["u"]), #"{"entityType":"Room","uuids":["u"]}"#)
    try expect(
      RecordsResponse(serverTime: time, epoch: "e1", changes: [record], missing: ["v"]),
      #"{"changes":["# + recordText + #"],"epoch":"e1","missing":["v"],"serverTime":"2026-03-01T08:00:00.000Z"}"#)
    try expect(
      RecordsRequest(entityType: "Room", uuids: ["u"], epoch: "e0"),
      #"{"entityType":"Room","epoch":"e0","uuids":["u"]}"#)
  }
}
