import Testing

@testable import SyncModel

/// Invalid messages: the member that the error names, and the members that are ignored.
@Suite struct WireMistakeTests {
  @Test(
    "A missing or wrong member of a push is named by its path",
    arguments: [
      (#"[]"#, "", SyncModelError.Code.wrongMember),
      (#"{}"#, "deviceId", .missingMember),
      (#"{"deviceId":7,"operations":[]}"#, "deviceId", .wrongMember),
      (#"{"deviceId":"d"}"#, "deviceCounter", .missingMember),
      (#"{"deviceId":"d","deviceCounter":-1}"#, "deviceCounter", .wrongMember),
      (#"{"deviceId":"d","deviceCounter":1}"#, "operations", .missingMember),
      (#"{"deviceId":"d","deviceCounter":1,"cursor":1,"operations":[]}"#, "cursor", .wrongMember),
      (#"{"deviceId":"d","deviceCounter":1,"operations":{}}"#, "operations", .wrongMember),
      (#"{"deviceId":"d","deviceCounter":1,"operations":[7]}"#, "operations[0]", .wrongMember),
      (#"{"deviceId":"d","deviceCounter":1,"operations":[{}]}"#, "operations[0].operationType", .missingMember),
      (
        #"{"deviceId":"d","deviceCounter":1,"operations":[{"operationType":"upsert"}]}"#, "operations[0].operationType",
        .wrongMember
      ),
    ])
  func aWrongMemberIsNamed(text: String, member: String, code: SyncModelError.Code) {
    let error = #expect(throws: SyncModelError.self) { try PushRequest(json: Array(text.utf8)) }
    #expect(error?.member == member)
    #expect(error?.code == code)
  }

  private let operation: SyncObject = [
    "operationId": "1", "operationType": "update", "entityType": "Room", "entityUuid": "u", "baseVersion": 2,
    "schemaVersion": 8, "updatedAt": "2026-03-01T08:00:00.000Z", "fields": [:], "base": [:], "editTimes": [:],
    "isDeleted": false, "userEditedFields": [], "createdAt": "2026-03-01T08:00:00.000Z", "idempotencyKey": "k",
    "baseEpoch": "e",
  ]

  @Test("A member of another type is refused with its name") func everyMemberHasItsType() throws {
    _ = try PushOperation(wire: .object(operation))
    for name in operation.names {
      var wrong = operation
      // No member of an operation is an array of arrays.
      wrong[name] = [[]]
      let error = #expect(throws: SyncModelError.self) { try PushOperation(wire: .object(wrong)) }
      #expect(error?.member == name)
      #expect(error?.code == .wrongMember)
    }
  }

  @Test("An invalid time or version is refused with its name") func aTimeOrVersionThatCannotBeIsRefused() {
    for (name, value) in [
      ("updatedAt", "2026-02-30T08:00:00.000Z"), ("editTimes", ["title": "yesterday"]), ("baseVersion", -1),
      ("schemaVersion", .number(1.5)),
    ] as [(String, SyncValue)] {
      var wrong = operation
      wrong[name] = value
      let error = #expect(throws: SyncModelError.self) { try PushOperation(wire: .object(wrong)) }
      #expect(error?.member == name)
    }
  }

  @Test("Unknown members are ignored") func whatNobodyKnowsIsPassedOver() throws {
    var more = operation
    more["colour"] = ["green"]
    #expect(try PushOperation(wire: .object(more)) == PushOperation(wire: .object(operation)))
  }

  @Test("Null means absent for optional members") func nullIsAbsentWhereAMemberMayBeAbsent() throws {
    var sparse = operation
    for name in ["base", "editTimes", "isDeleted", "userEditedFields", "createdAt", "baseEpoch"] {
      sparse[name] = .null
    }
    let read = try PushOperation(wire: .object(sparse))
    #expect(read.patch.isDeleted == nil)
    #expect(read.patch.userEditedFields == nil)
    #expect(read.createdAt == nil)
  }

  @Test("A delete operation sets isDeleted and a create operation does not") func aDeletionDeletesAndACreationDoesNot()
    throws
  {
    var object = operation
    object["operationType"] = "delete"
    #expect(try PushOperation(wire: .object(object)).patch.isDeleted == true)
    object["operationType"] = "create"
    #expect(try PushOperation(wire: .object(object)).patch.isDeleted == nil)
  }

  @Test("A wire error does not contain values") func anErrorNamesNoValue() {
    let text = #"{"deviceId":"d","deviceCounter":1,"operations":[{"operationType":"secret"}]}"#
    let error = #expect(throws: SyncModelError.self) { try PushRequest(json: Array(text.utf8)) }
    #expect(error.map { "\($0)" } == "expected one of create, update, delete at operations[0].operationType")
  }

  @Test("The account information of another service is refused") func anotherServiceIsNoAccount() {
    let text = #"{"service":"hotel","serverUuid":"s","account":"a","user":"u","schemas":[]}"#
    let error = #expect(throws: SyncModelError.self) { try AccountInfo(json: Array(text.utf8)) }
    #expect(error?.member == "service")
  }
}
