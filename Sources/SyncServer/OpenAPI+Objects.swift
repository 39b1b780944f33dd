import FileServer

/// The part about files in an object store.
extension OpenAPI {
  /// Returns the paths that replace the tus paths.
  static func objectPaths() -> String {
    """
    "/v1/files": {
      "options": {"summary": "Whether files are sent to addresses that the server returns", "security": [],
        "responses": {"204": \(reference("ObjectUploads")), "400": \(reference("BadRequest"))}}},
    "/v1/files/{content}/{variant}/address": {"parameters": [\(names(["content", "variant"]))],
      "post": {"summary": "An upload address that requires no token",
        "requestBody": \(body("FileAddressRequest")),
        "responses": {\(response("FileAddress")), "404": \(reference("NotFound")), "409": \(reference("ContentExists")),
          \(bodyProblems()), \(problems())}}},
    "/v1/files/{content}/{variant}/confirm": {"parameters": [\(names(["content", "variant"]))],
      "post": {"summary": "Confirm a sent file, which makes it visible to other devices",
        "requestBody": \(body("FileConfirmation")),
        "responses": {\(response("FileConfirmed")), "404": \(reference("NotFound")), "409": \(reference("NotArrived")),
          \(bodyProblems()), \(problems())}}},
    "/v1/files/{content}/{variant}/download-address": {"parameters": [\(names(["content", "variant"]))],
      "post": {"summary": "A download address that requires no token",
        "requestBody": \(body("Nothing")),
        "responses": {\(response("FileAddress")), "404": \(reference("NotFound")),
          \(bodyProblems()), \(problems())}}},
    """
  }

  static func objectResponses(_ problem: (String) -> String) -> String {
    """
    "ObjectUploads": {"description": "\(FileService.wayHeader) is presigned", "headers": {
      "\(FileService.wayHeader)": {"schema": {"const": "presigned"}},
      "Fieldvault-Max-Size": {"schema": {"type": "integer"}}}},
    "NotArrived": \(problem(
      "urn:fieldvault:not-sent, urn:fieldvault:object-mismatch (field names the difference): send it again; or "
        + "urn:fieldvault:content-exists: there is nothing to send"))
    """
  }

  static let objectSchemas = """
    "FileAddressRequest": {"type": "object", "required": ["bytes", "sha256", "contentType"], "properties": {
      "bytes": {"type": "integer", "minimum": 0},
      "sha256": {"type": "string", "description": "SHA-256 of the sent bytes, in base64", "minLength": 44, "maxLength": 44},
      "contentType": {"type": "string", "description": "A lowercase media type without parameters"}}},
    "FileAddress": {"type": "object", "required": ["url", "method", "headers", "expiresAt"], "properties": {
      "url": {"type": "string", "description": "A path belongs to this server and requires the token"},
      "method": {"enum": ["PUT", "GET"]},
      "headers": {"type": "object", "additionalProperties": {"type": "string"},
        "description": "Headers to send unchanged"},
      "expiresAt": {"type": "string", "format": "date-time"},
      "upload": {"type": "string", "description": "For the confirmation"}}},
    "FileConfirmation": {"type": "object", "required": ["upload"], "properties": {"upload": {"type": "string"}}},
    "FileConfirmed": {"type": "object", "required": ["content"], "properties": {"content": {"type": "string"}}},
    "Nothing": {"type": "object"}
    """
}
