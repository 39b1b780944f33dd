import SyncModel

/// Messages with every member that they can have.
enum WireSamples {
  private static let time: Int64 = 1_772_352_000_000
  private static let uuid = "0195b2c0-0000-7000-8000-000000000001"
  private static let digest = String(repeating: "0f", count: 32)
  private static let reference = RecordReference(entityType: "Room", entityUuid: uuid)

  private static let record = RemoteRecord(
    entityType: "Room", entityUuid: uuid, serverId: 17, createdAt: time,
    state: RecordState(
      fields: ["title": "Kitchen", "level": .null], isDeleted: true, syncVersion: 3, updatedAt: time + 1,
      editTimes: ["title": time], userEditedFields: ["title"]),
    deletedWith: RecordReference(entityType: "Location", entityUuid: uuid), sharedVersion: 2)

  private static let changes = ChangesPage(
    serverTime: time, epoch: "e1", changes: [record], cursor: "c7", hasMore: true, remaining: 12,
    removedProjects: [uuid])

  private static let problem = ServerProblem(
    type: "urn:example", title: "Not valid", status: 422, detail: "title is too long", field: "title")

  private static let operations = [
    PushOperation(
      operationId: "op1", idempotencyKey: "k1", kind: .update, entityType: "Room", entityUuid: uuid, baseVersion: 2,
      baseEpoch: "e1", schemaVersion: 8, createdAt: time,
      patch: RecordPatch(
        fields: ["title": "Kitchen"], isDeleted: false, userEditedFields: ["title"], updatedAt: time + 1,
        editTimes: ["title": time]),
      base: ["title": "Wet kitchen"], sealedDigest: digest),
    PushOperation(
      operationId: "op2", idempotencyKey: "k2", kind: .delete, entityType: "Room", entityUuid: uuid, baseVersion: 1,
      schemaVersion: 8, patch: RecordPatch(isDeleted: true, updatedAt: time)),
    PushOperation(
      operationId: "op3", idempotencyKey: "k3", kind: .create, entityType: "Room", entityUuid: uuid, baseVersion: 0,
      schemaVersion: 8, createdAt: time, patch: RecordPatch(fields: ["title": .null], updatedAt: time), serverId: 17),
  ]

  private static let results: [PushResult] =
    [
      PushResult(operationId: "1", outcome: .accepted(version: 0, serverId: nil)),
      PushResult(
        operationId: "2",
        outcome: .accepted(
          version: 3, serverId: 17,
          times: RecordTimes(createdAt: time, updatedAt: time + 1, editTimes: ["title": time]))),
      PushResult(
        operationId: "3",
        outcome: .merged(
          record, lost: MergeSide.allCases.map { OverwrittenValue(field: "title", side: $0, value: .null) })),
      PushResult(operationId: "4", outcome: .rejected(problem)),
      PushResult(operationId: "5", outcome: .waiting(for: "4")),
    ]
    + ConflictKind.allCases.flatMap { kind in
      [
        PushResult(operationId: "6", outcome: .conflict(kind, fields: ["title"], record: record)),
        PushResult(operationId: "7", outcome: .conflict(kind, fields: ["title"], record: nil, other: reference)),
      ]
    }

  static let all: [String: [any WireMessage]] = [
    "Account": TokenRole.allCases.map { role in
      AccountInfo(
        serverUuid: uuid, epoch: "e1", account: "water", user: "ada", role: role, serverTime: time,
        schemas: [AccountInfo.Schema(name: "restoration", version: 8)])
    },
    "AccountDeleted": [AccountDeleted(rows: 3, files: 1, responses: 2)],
    "AccountExport": [AccountExportPage(changes, late: 1)],
    "AccountExportRequest": [AccountExportRequest(), AccountExportRequest(cursor: "c7")],
    "BucketDigests": [
      BucketDigests(epoch: "e1", buckets: ["0f": DigestSummary(count: 1, digest: digest)]),
      BucketDigests(epoch: "e1", buckets: [:], bucketLimit: 64),
    ],
    "Changes": [changes],
    "EntityDigests": [
      EntityDigests(
        serverTime: time, epoch: "e1", cursor: "c", entities: ["Room": DigestSummary(count: 12, digest: digest)],
        columns: ["Room": DigestColumns(computed: ["area"], addedDefaults: ["level": 1])], memberProjects: [uuid])
    ],
    "FileAddress": [
      FileAddress(
        url: "https://s3.example.org", method: "PUT", headers: ["Content-Type": "image/jpeg"], expiresAt: time,
        upload: "u"),
      FileAddress(url: "/v1/files/x/full", method: "GET", headers: [:], expiresAt: time),
    ],
    "FileAddressRequest": [
      FileAddressRequest(byteCount: 5, sha256: String(repeating: "A", count: 43) + "=", contentType: "image/jpeg")
    ],
    "FileConfirmation": [FileConfirmation(upload: "u")],
    "FileConfirmed": [FileConfirmed(content: "/v1/files/x/full")],
    "FileDigests": [
      FileDigestsResponse(files: [
        "\(uuid)/full": .init(byteCount: 7, sha256: digest, contentDigest: digest),
        "\(uuid)/thumbnail": .init(byteCount: 7, sha256: nil, contentDigest: nil),
      ])
    ],
    "Health": [ServerHealth(serverTime: time)],
    "MissingFiles": [MissingFilesResponse(missing: ["\(uuid)/thumbnail"])],
    "MissingFilesRequest": [MissingFilesRequest(files: ["\(uuid)/full"])],
    "Problem": [problem, ServerProblem(title: "Failed", status: 500, detail: "")],
    "PushRequest": [
      PushRequest(deviceId: "d", deviceCounter: 7, cursor: "c", operations: operations),
      PushRequest(deviceId: "d", deviceCounter: 0, cursor: nil, operations: []),
    ],
    "PushResponse": [
      PushResponse(serverTime: time, epoch: "e1", cursor: "c", results: results),
      PushResponse(serverTime: time, epoch: "e1", cursor: nil, results: []),
    ],
    "RecordDigests": [
      RecordDigests(epoch: "e1", records: [RecordDigest(entityUuid: uuid, version: 3, digest: digest, serverId: 17)])
    ],
    "Records": [RecordsResponse(serverTime: time, epoch: "e1", changes: [record], missing: [uuid])],
    "RecordsRequest": [
      RecordsRequest(entityType: "Room", uuids: [uuid]), RecordsRequest(entityType: "Room", uuids: [], epoch: "e0"),
    ],
    "Watch": [WatchResponse(changed: true), WatchResponse(changed: false, cursor: "1.e.7.0")],
  ]
}
