extension OpenAPI {
  /// The routes, as JSON.
  static func paths(_ limits: ServerLimits, isPresigned: Bool) -> String {
    """
    {
      "/v1/health": {"get": {"summary": "Whether this is a FieldVault server", "security": [],
        "responses": {\(response("Health"))}}},
      "/v1/ready": {"get": {"summary": "Whether the server can execute requests now, for load balancers", "security": [],
        "responses": {\(response("Health")), "503": \(reference("NotNow"))}}},
      "/v1/openapi.json": {"get": {"summary": "This document", "security": [],
        "responses": {"200": {"description": "OpenAPI 3.1", "content": {"application/json": {"schema":
          {"type": "object"}}}}}}},
      "/v1/account": {"get": {"summary": "The user of the token and the schemas of the server",
        "parameters": [\(version)],
        "responses": {\(response("Account")), \(syncProblems())}},
        "delete": {"summary": "Delete the account with all of its data",
          "description": "Requires a token with the role admin, or the token of the only user of the account; otherwise 403. No token of the account is valid afterwards. The response counts what is removed.",
          "parameters": [\(version)],
          "responses": {\(response("AccountDeleted")), \(syncProblems())}}},
      "/v1/push": {"post": {"summary": "Execute operations, each once and independently",
        "parameters": [\(version)], "requestBody": \(body("PushRequest")),
        "responses": {\(response("PushResponse")), "409": \(reference("PushRefused")), \(bodyProblems()), \(syncProblems())}}},
      "/v1/changes": {"get": {"summary": "The changes after a cursor",
        "parameters": [\(version),
          {"name": "cursor", "in": "query", "schema": {"type": "string"}},
          {"name": "limit", "in": "query",
            "schema": {"type": "integer", "minimum": 1, "maximum": \(limits.pageSize), "default": 500}},
          {"$ref": "#/components/parameters/projects"}],
        "responses": {\(response("Changes")), "410": \(reference("CursorUnknown")), "422": \(reference("Invalid")),
          \(syncProblems())}}},
      "/v1/watch": {"get": {"summary": "Wait for a change after a cursor",
        "parameters": [\(version),
          {"name": "cursor", "in": "query", "required": true, "schema": {"type": "string"}},
          {"name": "timeout", "in": "query",
            "schema": {"type": "integer", "minimum": 1, "maximum": 55, "default": 50}},
          {"$ref": "#/components/parameters/projects"},
          {"name": "deviceId", "in": "query",
            "schema": {"$ref": "#/components/schemas/DeviceId"}}],
        "responses": {\(response("Watch")), "410": \(reference("CursorUnknown")), "422": \(reference("Invalid")),
          \(syncProblems())}}},
      "/v1/digests": {"get": {"summary": "One digest per entity",
        "parameters": [\(version), {"$ref": "#/components/parameters/projects"}],
        "responses": {\(response("EntityDigests")), "422": \(reference("Invalid")), \(syncProblems())}}},
      "/v1/digests/{entity}": {"get": {"summary": "One digest per bucket of an entity",
        "parameters": [\(version), {"$ref": "#/components/parameters/entity"}, {"$ref": "#/components/parameters/projects"}],
        "responses": {\(response("BucketDigests")), "404": \(reference("NotFound")), "422": \(reference("Invalid")),
          \(syncProblems())}}},
      "/v1/digests/{entity}/{buckets}": {"get": {"summary": "The digests of the records of some buckets",
        "parameters": [\(version), {"$ref": "#/components/parameters/entity"}, \(buckets(limits)),
          {"$ref": "#/components/parameters/projects"}],
        "responses": {\(response("RecordDigests")), "404": \(reference("NotFound")), "422": \(reference("Invalid")),
          \(syncProblems())}}},
      "/v1/records": {"post": {"summary": "Records by UUID",
        "parameters": [\(version)], "requestBody": \(body("RecordsRequest")),
        "responses": {\(response("Records")), \(bodyProblems()), \(syncProblems())}}},
      "/v1/account/export": {"post": {"summary": "The records of the account that the user sees, page by page",
        "description": "Without a cursor, an export begins. Later pages may have newer versions of records of earlier pages, and deletions of them. Also open to the role admin, as is the download of files.",
        "parameters": [\(version)], "requestBody": \(body("AccountExportRequest")),
        "responses": {\(response("AccountExport")), "410": \(reference("CursorUnknown")), \(bodyProblems()), \(syncProblems())}}},
      \(filePaths(isPresigned: isPresigned))
    }
    """
  }

  private static func buckets(_ limits: ServerLimits) -> String {
    """
    {"name": "buckets", "in": "path", "required": true, "description":
            "The last two digits of the UUID. Several are comma-separated, and have at most \(limits.digestsPerRequest) records together.",
            "schema": {"type": "string", "pattern": "^[0-9a-f]{2}(,[0-9a-f]{2}){0,\(limits.bucketsPerRequest - 1)}$"}}
    """
  }

  /// The headers of every request about records.
  private static let version =
    ##"{"$ref": "#/components/parameters/protocol"}, {"$ref": "#/components/parameters/device"}"##

  static func reference(_ response: String) -> String { ##"{"$ref": "#/components/responses/\##(response)"}"## }

  private static func content(_ schema: String) -> String {
    ##"{"application/json": {"schema": {"$ref": "#/components/schemas/\##(schema)"}}}"##
  }

  static func response(_ schema: String) -> String {
    #""200": {"description": "Done", "content": \#(content(schema))}"#
  }

  static func body(_ schema: String) -> String { #"{"required": true, "content": \#(content(schema))}"# }

  /// The responses that every request with a token may receive.
  static func problems() -> String {
    [
      ("400", "BadRequest"), ("401", "Unauthorized"), ("403", "Forbidden"), ("429", "TooManyRequests"),
      ("500", "Failure"), ("503", "NotNow"),
      ("507", "NoRoom"),
    ].map { "\"\($0.0)\": \(reference($0.1))" }.joined(separator: ", ")
  }

  /// The problems of every request that needs a matching version.
  static func syncProblems() -> String { "\"426\": \(reference("OtherProtocol")), " + problems() }

  static func bodyProblems() -> String {
    [("413", "TooLarge"), ("415", "NotJSON"), ("422", "Invalid")].map {
      "\"\($0.0)\": \(reference($0.1))"
    }.joined(separator: ", ")
  }
}
