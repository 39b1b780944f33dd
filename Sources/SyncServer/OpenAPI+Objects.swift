import FileServer

/// The part about files in an object store.
extension OpenAPI {
  /// In place of the paths of tus.
  static func objectPaths() -> String {
    """
    "/v1/files": {
      "options": {"summary": "That files go to addresses that the server names", "security": [],
        "responses": {"204": \(reference("ObjectUploads"))}}},
    "/v1/files/{content}/{variant}/address": {"parameters": [\(names(["content", "variant"]))],
      "post": {"summary": "Where a file may be sent, without the token",
        "requestBody": \(body("FileAddressRequest")),
        "responses": {\(answer("FileAddress")), "409": \(reference("ContentExists")),
          \(bodyProblems()), \(problems())}}},
    "/v1/files/{content}/{variant}/confirm": {"parameters": [\(names(["content", "variant"]))],
      "post": {"summary": "The file was sent: look whether it is there; from then on others see it",
        "requestBody": \(body("FileConfirmation")),
        "responses": {\(answer("FileConfirmed")), "404": \(reference("NotFound")), "409": \(reference("NotArrived")),
          \(bodyProblems()), \(problems())}}},
    "/v1/files/{content}/{variant}/download-address": {"parameters": [\(names(["content", "variant"]))],
      "post": {"summary": "Where a finished content may be fetched, without the token",
        "requestBody": \(body("Nothing")),
        "responses": {\(answer("FileAddress")), "404": \(reference("NotFound")),
          \(bodyProblems()), \(problems())}}},
    """
  }

  static func objectResponses(_ problem: (String) -> String) -> String {
    """
    "ObjectUploads": {"description": "\(FileService.wayHeader) is presigned", "headers": {
      "\(FileService.wayHeader)": {"schema": {"const": "presigned"}},
      "Fieldvault-Max-Size": {"schema": {"type": "integer"}}}},
    "NotArrived": \(problem(
      "urn:fieldvault:not-sent, urn:fieldvault:object-mismatch (field says what differs): send it again; or "
        + "urn:fieldvault:content-exists: nothing is left to send"))
    """
  }

  static let objectSchemas = """
    "FileAddressRequest": {"type": "object", "required": ["bytes", "sha256", "contentType"], "properties": {
      "bytes": {"type": "integer", "minimum": 0},
      "sha256": {"type": "string", "description": "SHA-256 of what is sent, in base64", "minLength": 44, "maxLength": 44},
      "contentType": {"type": "string", "description": "A media type in lower case, without parameters"}}},
    "FileAddress": {"type": "object", "required": ["url", "method", "headers", "expiresAt"], "properties": {
      "url": {"type": "string", "description": "A path is one of this server, and wants the token"},
      "method": {"enum": ["PUT", "GET"]},
      "headers": {"type": "object", "additionalProperties": {"type": "string"},
        "description": "What goes along exactly so"},
      "expiresAt": {"type": "string", "format": "date-time"},
      "upload": {"type": "string", "description": "For the confirmation"}}},
    "FileConfirmation": {"type": "object", "required": ["upload"], "properties": {"upload": {"type": "string"}}},
    "FileConfirmed": {"type": "object", "required": ["content"], "properties": {"content": {"type": "string"}}},
    "Nothing": {"type": "object"}
    """
}
