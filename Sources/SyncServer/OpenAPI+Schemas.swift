import SyncModel

extension OpenAPI {
  /// The bodies of requests and responses, as JSON.
  static func schemas(_ limits: ServerLimits) -> String {
    """
    {
      "Time": {"type": "string", "format": "date-time", "description": "UTC with milliseconds"},
      "Uuid": {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
      "Fields": {"type": "object", "description": "Columns by name; an absent column is unchanged",
        "additionalProperties": true},
      "EditTimes": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Time"}},
      "Names": {"type": "array", "items": {"type": "string"}},
      "Problem": {"type": "object", "required": ["type", "title", "status", "detail"], "properties": {
        "type": {"type": "string"}, "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string"}, "field": {"type": "string"}}},
      "Health": {"type": "object", "required": ["service", "protocol", "serverTime"], "properties": {
        "service": {"const": "fieldvault"}, "protocol": {"const": \(WireProtocol.version)},
        "serverTime": {"$ref": "#/components/schemas/Time"}}},
      "DeviceId": {"type": "string", "minLength": 1, "maxLength": \(PushId.greatestLength), "pattern": "^[!-~]+$"},
      "Epoch": {"type": "string", "pattern": "^[A-Za-z0-9-]{1,64}$", "description": "A history of the account's data"},
      "Account": {"type": "object",
        "required": ["service", "protocol", "serverUuid", "epoch", "account", "user", "role", "serverTime", "schemas"],
        "properties": {"service": {"const": "fieldvault"}, "protocol": {"const": \(WireProtocol.version)},
          "serverUuid": {"$ref": "#/components/schemas/Uuid"}, "epoch": {"$ref": "#/components/schemas/Epoch"},
          "role": {"enum": ["device", "service", "admin"]},
          "account": {"type": "string"}, "user": {"type": "string"},
          "serverTime": {"$ref": "#/components/schemas/Time"},
          "schemas": {"type": "array", "items": {"type": "object", "required": ["name", "version"],
            "properties": {"name": {"type": "string"}, "version": {"type": "integer", "minimum": 0}}}}}},
      "AccountDeleted": {"type": "object", "required": ["rows", "files", "responses"], "properties": {
        "rows": {"type": "integer", "minimum": 0, "description": "Records, with deleted ones that are not forgotten"},
        "files": {"type": "integer", "minimum": 0, "description": "Files and unfinished uploads"},
        "responses": {"type": "integer", "minimum": 0, "description": "Stored responses to operations"}}},
      "AccountExportRequest": {"type": "object", "properties": {
        "cursor": {"type": ["string", "null"], "description": "The cursor of the page before"}}},
      "Record": {"type": "object", "required": ["entityType", "entityUuid", "serverId", "version", "isDeleted",
          "createdAt", "updatedAt", "fields"],
        "properties": {"entityType": {"type": "string"}, "entityUuid": {"$ref": "#/components/schemas/Uuid"},
          "serverId": {"type": "integer"}, "version": {"type": "integer", "minimum": 1},
          "isDeleted": {"type": "boolean"}, "createdAt": {"$ref": "#/components/schemas/Time"},
          "updatedAt": {"$ref": "#/components/schemas/Time"}, "editTimes": {"$ref": "#/components/schemas/EditTimes"},
          "userEditedFields": {"$ref": "#/components/schemas/Names"},
          "deletedWith": {"type": "object", "required": ["entityType", "entityUuid"], "properties": {
            "entityType": {"type": "string"}, "entityUuid": {"$ref": "#/components/schemas/Uuid"}}},
          "sharedVersion": {"type": "integer", "minimum": 0},
          "fields": {"$ref": "#/components/schemas/Fields"}}},
    \(push(limits)),
    \(pull(limits))
    }
    """
  }

  private static func push(_ limits: ServerLimits) -> String {
    """
      "Operation": {"oneOf": [\(operation(["create", "delete"], #","serverId": {"type": "integer", "minimum": 0, "maximum": \#(Int64.max)}"#)), \(operation(["update"], #","isDeleted": {"const": false}"#))]},
      "PushRequest": {"type": "object", "required": ["deviceId", "deviceCounter", "operations"], "properties": {
        "deviceId": {"$ref": "#/components/schemas/DeviceId"},
        "deviceCounter": {"type": "integer", "minimum": 0, "maximum": \(Int64.max)},
        "cursor": {"type": ["string", "null"]},
        "operations": {"type": "array", "maxItems": \(limits.pushOperations),
          "items": {"$ref": "#/components/schemas/Operation"}}}},
      "PushResult": {"oneOf": [
        \(result("accepted", required: ["version"], """
          "version": {"type": "integer", "minimum": 0}, "serverId": {"type": "integer"},
          "createdAt": {"$ref": "#/components/schemas/Time"}, "updatedAt": {"$ref": "#/components/schemas/Time"},
          "editTimes": {"$ref": "#/components/schemas/EditTimes"}
          """)),
        \(result("merged", required: ["version", "record", "lost"], """
          "version": {"type": "integer", "minimum": 1}, "serverId": {"type": "integer"},
          "record": {"$ref": "#/components/schemas/Record"},
          "lost": {"type": "array", "items": {"type": "object", "required": ["field", "side", "value"], "properties": {
            "field": {"type": "string"}, "side": {"enum": ["local", "remote"]}, "value": true}}}
          """)),
        \(result("conflict", required: ["conflict", "record"], """
          "record": {"oneOf": [{"$ref": "#/components/schemas/Record"}, {"type": "null"}]},
          "conflict": {"type": "object", "required": ["kind", "fields"], "properties": {
            "kind": {"enum": ["concurrent_edit", "deleted_remotely", "deleted_locally", "not_unique", "parent_missing"]},
            "fields": {"$ref": "#/components/schemas/Names"}, "other": {
              "type": "object", "required": ["entityType", "entityUuid"], "properties": {
                "entityType": {"type": "string"}, "entityUuid": {"$ref": "#/components/schemas/Uuid"}}}}}
          """)),
        \(result("rejected", required: ["problem"], ##""problem": {"$ref": "#/components/schemas/Problem"}"##)),
        \(result("waiting", required: ["waitsFor"], #""waitsFor": {"type": "string"}"#))]},
      "PushResponse": {"type": "object", "required": ["serverTime", "epoch", "results"], "properties": {
        "serverTime": {"$ref": "#/components/schemas/Time"}, "epoch": {"$ref": "#/components/schemas/Epoch"},
        "cursor": {"type": "string"},
        "results": {"type": "array", "items": {"$ref": "#/components/schemas/PushResult"}}}}
    """
  }

  /// An operation of one of the kinds.
  /// - Parameter more: further properties, each preceded by a comma.
  private static func operation(_ kinds: [String], _ more: String = "") -> String {
    """
    {"type": "object", "required": ["operationId", "idempotencyKey", "operationType", "entityType", "entityUuid",
        "baseVersion", "schemaVersion", "updatedAt"],
      "properties": {
        "operationId": {"type": "string", "minLength": 1, "maxLength": \(PushId.greatestLength)},
        "idempotencyKey": {"type": "string", "minLength": 1, "maxLength": \(PushId.greatestLength)},
        "baseEpoch": {"$ref": "#/components/schemas/Epoch"},
        "operationType": {"enum": [\(quoted(kinds))]}, "entityType": {"type": "string"},
        "entityUuid": {"$ref": "#/components/schemas/Uuid"},
        "baseVersion": {"type": "integer", "minimum": 0, "maximum": \(PushOperation.greatestVersion)},
        "schemaVersion": {"type": "integer", "minimum": 0, "maximum": \(Int64.max)}, "createdAt": {"$ref": "#/components/schemas/Time"},
        "updatedAt": {"$ref": "#/components/schemas/Time"}, "editTimes": {"$ref": "#/components/schemas/EditTimes"},
        "fields": {"$ref": "#/components/schemas/Fields"}, "base": {"$ref": "#/components/schemas/Fields"},
        "userEditedFields": {"$ref": "#/components/schemas/Names"},
        "sealedDigest": {"type": "string", "pattern": "^[0-9a-f]{64}$"}\(more)}}
    """
  }

  /// The result of an operation with one outcome.
  private static func result(_ word: String, required: [String], _ properties: String) -> String {
    """
    {"type": "object", "required": [\(quoted(["operationId", "result"] + required))], "properties": {
      "operationId": {"type": "string"}, "result": {"const": "\(word)"}, \(properties)}}
    """
  }

  private static func quoted(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ", ") }

  private static let pageMembers = """
    "serverTime", "epoch", "changes", "cursor", "hasMore"
    """

  /// The members of a page of records.
  private static let page = """
    "serverTime": {"$ref": "#/components/schemas/Time"},
          "epoch": {"$ref": "#/components/schemas/Epoch"},
          "removedProjects": {"type": "array", "items": {"$ref": "#/components/schemas/Uuid"}},
          "changes": {"type": "array", "items": {"$ref": "#/components/schemas/Record"}},
          "cursor": {"type": "string"}, "hasMore": {"type": "boolean"}, "remaining": {"type": "integer", "minimum": 0}
    """

  private static func pull(_ limits: ServerLimits) -> String {
    """
      "Changes": {"type": "object", "required": [\(pageMembers)], "properties": {\(page)}},
      "AccountExport": {"type": "object", "required": [\(pageMembers), "late"], "properties": {\(page),
        "late": {"type": "integer", "minimum": 0,
          "description": "The number of records at the end of changes that changed after the export began"}}},
      "Watch": {"type": "object", "required": ["changed"], "properties": {
        "changed": {"type": "boolean"}, "cursor": {"type": "string"}}},
      "Digest": {"type": "object", "required": ["count", "digest"], "properties": {
        "count": {"type": "integer", "minimum": 0}, "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}},
      "EntityDigests": {"type": "object", "required": ["serverTime", "epoch", "cursor", "entities"], "properties": {
        "serverTime": {"$ref": "#/components/schemas/Time"}, "epoch": {"$ref": "#/components/schemas/Epoch"},
        "cursor": {"type": "string"},
        "memberProjects": {"type": "array", "items": {"$ref": "#/components/schemas/Uuid"}},
        "entities": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Digest"}},
        "columns": {"type": "object", "additionalProperties": {
          "type": "object", "required": ["added", "computed"], "properties": {
            "added": {"type": "object"}, "computed": {"type": "array", "items": {"type": "string"}}}}}}},
      "BucketDigests": {"type": "object", "required": ["epoch", "buckets"], "properties": {
        "epoch": {"$ref": "#/components/schemas/Epoch"},
        "buckets": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Digest"}},
        "bucketLimit": {"type": "integer", "minimum": 1}}},
      "RecordDigests": {"type": "object", "required": ["epoch", "records"], "properties": {
        "epoch": {"$ref": "#/components/schemas/Epoch"},
        "records": {"type": "array", "items": {"type": "object", "required": ["entityUuid", "version", "digest", "serverId"],
          "properties": {"serverId": {"type": "integer"}, "entityUuid": {"$ref": "#/components/schemas/Uuid"}, "version": {"type": "integer", "minimum": 0},
            "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}}}}},
      "RecordsRequest": {"type": "object", "required": ["entityType", "uuids"], "properties": {
        "entityType": {"type": "string"}, "epoch": {"$ref": "#/components/schemas/Epoch"},
        "uuids": {"type": "array", "maxItems": \(limits.recordsPerRequest),
          "items": {"$ref": "#/components/schemas/Uuid"}}}},
      "Records": {"type": "object", "required": ["serverTime", "epoch", "changes", "missing"], "properties": {
        "epoch": {"$ref": "#/components/schemas/Epoch"}, "serverTime": {"$ref": "#/components/schemas/Time"},
        "changes": {"type": "array", "items": {"$ref": "#/components/schemas/Record"}},
        "missing": {"type": "array", "items": {"$ref": "#/components/schemas/Uuid"}}}},
      "MissingFilesRequest": {"type": "object", "required": ["files"], "properties": {
        "files": {"type": "array", "maxItems": \(MissingFilesRequest.greatestCount),
          "items": {"$ref": "#/components/schemas/FileName"}}}},
      "FileDigests": {"type": "object", "required": ["files"], "properties": {
        "files": {"type": "object", "description": "By requested name; missing files are omitted",
          "additionalProperties": {"type": "object", "required": ["bytes"], "properties": {
            "bytes": {"type": "integer", "minimum": 0},
            "sha256": {"type": "string", "description": "SHA-256 of the stored bytes, in hexadecimal digits"},
            "contentSha256": {"type": "string", "description":
              "SHA-256 of the unencrypted content, if the server compared it with the record"}}}}}},
      "MissingFiles": {"type": "object", "required": ["missing"], "properties": {
        "missing": {"type": "array", "items": {"$ref": "#/components/schemas/FileName"}}}},
      "FileName": {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/(full|thumbnail)$"},
      \(objectSchemas)
    """
  }
}
