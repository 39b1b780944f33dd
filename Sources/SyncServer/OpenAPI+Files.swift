import FileServer

/// The part about files: tus 1.0.0 for uploads, ranges for downloads. `FileEndpoints.md` specifies them.
extension OpenAPI {
  static func filePaths(isPresigned: Bool) -> String {
    (isPresigned ? objectPaths() : tusPaths()) + "\n" + contentPaths()
  }

  private static func tusPaths() -> String {
    """
    "/v1/files": {
      "options": {"summary": "The server's tus capabilities", "security": [],
        "responses": {"204": \(reference("Tus")), "400": \(reference("BadRequest"))}},
      "post": {"summary": "Create an upload; a body contains its first bytes",
        "parameters": [\(names(["version", "uploadLength", "uploadDeferLength", "uploadMetadata", "uploadChecksum"]))],
        "requestBody": \(body(isRequired: false)),
        "responses": {"201": \(reference("UploadBegun")),
          "409": \(reference("ContentExists")), "422": \(reference("Invalid")), \(uploadProblems())}}},
    "/v1/files/uploads/{upload}": {
      "parameters": [\(names(["upload"]))],
      "options": {"summary": "The server's tus capabilities", "security": [],
        "responses": {"204": \(reference("Tus")), "400": \(reference("BadRequest"))}},
      "head": {"summary": "The offset of an upload; ends a request that still sends to it",
        "parameters": [\(names(["version"]))],
        "responses": {"200": \(reference("UploadState")), \(missing()), "412": \(reference("OtherTus")), \(problems())}},
      "patch": {"summary": "Append bytes to an upload",
        "parameters": [\(names(["version", "uploadOffset", "uploadLength", "uploadChecksum"]))],
        "requestBody": \(body(isRequired: true)),
        "responses": {"204": \(reference("UploadGrown")), \(missing()),
          "409": \(reference("OffsetMismatch")), "423": \(reference("UploadInUse")), \(uploadProblems())}},
      "delete": {"summary": "Discard an upload", "parameters": [\(names(["version"]))],
        "responses": {"204": {"description": "The upload was discarded"}, \(missing()), "412": \(reference("OtherTus")),
          \(problems())}}},
    """
  }

  private static func contentPaths() -> String {
    """
    "/v1/files/missing": {"post": {"summary": "The names of missing files",
      "requestBody": \(body("MissingFilesRequest")),
      "responses": {\(response("MissingFiles")), \(bodyProblems()), \(problems())}}},
    "/v1/files/digests": {"post": {"summary": "The digests of files",
      "requestBody": \(body("MissingFilesRequest")),
      "responses": {\(response("FileDigests")), \(bodyProblems()), \(problems())}}},
    "/v1/files/{content}/{variant}": {
      "parameters": [\(names(["content", "variant"]))],
      "get": {"summary": "A complete content, or a part of it", "parameters": [\(names(["range", "ifRange", "ifNoneMatch"]))],
        "responses": {"200": \(reference("Content")), "206": \(reference("Content")),
          "304": {"description": "The client has the current content"}, "404": \(reference("NotFound")),
          "416": \(reference("NoSuchRange")), \(problems())}},
      "head": {"summary": "Whether a content exists, and its size in bytes",
        "responses": {"200": {"description": "It is"}, "404": \(reference("NotFound")), \(problems())}}}
    """
  }

  static func names(_ parameters: [String]) -> String {
    parameters.map { ##"{"$ref": "#/components/parameters/\##($0)"}"## }.joined(separator: ", ")
  }

  private static func body(isRequired: Bool) -> String {
    """
    {"required": \(isRequired), "content": {"\(Tus.contentType)": {"schema": {"type": "string", "format": "binary"}}}}
    """
  }

  private static func missing() -> String {
    #""404": \#(reference("NotFound")), "410": \#(reference("UploadExpired"))"#
  }

  private static func uploadProblems() -> String {
    let own = [
      ("412", "OtherTus"), ("413", "FileTooLarge"), ("415", "NotUpload"), ("460", "ChecksumMismatch"),
    ]
    return (own.map { #""\#($0.0)": \#(reference($0.1))"# } + [problems()]).joined(separator: ", ")
  }

  static func fileResponses(_ limits: ServerLimits, _ problem: (String) -> String) -> String {
    func done(_ description: String, _ headers: [String]) -> String {
      let list = headers.map { #""\#($0)": {"schema": {"type": "string"}}"# }.joined(separator: ", ")
      return #"{"description": "\#(description)", "headers": {\#(list)}}"#
    }
    return """
      "Tus": \(done("Versions and extensions", ["Tus-Version", "Tus-Extension", "Tus-Max-Size", "Tus-Checksum-Algorithm"])),
      "UploadBegun": \(done("Begun", ["Location", "Upload-Offset", "Upload-Expires", "Fieldvault-Content"])),
      "UploadState": \(done("There", [
        "Upload-Offset", "Upload-Length", "Upload-Defer-Length", "Upload-Metadata", "Upload-Expires",
        "Fieldvault-Content",
      ])),
      "UploadGrown": \(done("The bytes are stored", ["Upload-Offset", "Upload-Expires"])),
      "Content": {"description": "The bytes", "headers": {"ETag": {"schema": {"type": "string"}},
          "Content-Range": {"schema": {"type": "string"}}},
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
      \(objectResponses(problem)),
      "ContentExists": \(problem("urn:fieldvault:content-exists: there is nothing to send")),
      "OffsetMismatch": \(problem(
        "urn:fieldvault:offset-mismatch: continue at Upload-Offset; or urn:fieldvault:content-exists")),
      "UploadInUse": \(problem("Another request is sending to the upload")),
      "UploadExpired": \(problem("urn:fieldvault:upload-expired: start a new upload")),
      "OtherTus": \(problem("The header Tus-Resumable is not \(Tus.version)")),
      "FileTooLarge": \(problem("The file exceeds \(limits.files.fileBytes) bytes or the upload's length")),
      "NotUpload": \(problem("Content-Type is not \(Tus.contentType)")),
      "ChecksumMismatch": \(problem("The bytes do not match Upload-Checksum and are discarded")),
      "NoSuchRange": \(problem("The range is outside the content"))
      """
  }

  static let fileParameters = """
    "upload": {"name": "upload", "in": "path", "required": true,
      "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"}},
    "content": {"name": "content", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Uuid"}},
    "variant": {"name": "variant", "in": "path", "required": true, "schema": {"enum": ["full", "thumbnail"]}},
    "version": {"name": "Tus-Resumable", "in": "header", "required": true, "schema": {"const": "\(Tus.version)"}},
    "uploadLength": {"name": "Upload-Length", "in": "header", "schema": {"type": "integer", "minimum": 0}},
    "uploadDeferLength": {"name": "Upload-Defer-Length", "in": "header", "schema": {"const": 1}},
    "uploadOffset": {"name": "Upload-Offset", "in": "header", "required": true,
      "schema": {"type": "integer", "minimum": 0}},
    "uploadMetadata": {"name": "Upload-Metadata", "in": "header", "description":
      "Pairs of a name and a value in base64; content (a UUID) and variant (full, thumbnail) name the file",
      "schema": {"type": "string", "maxLength": \(UploadMetadata.greatestLength)}},
    "uploadChecksum": {"name": "Upload-Checksum", "in": "header", "description": "sha1 or sha256, and the hash in base64",
      "schema": {"type": "string"}},
    "range": {"name": "Range", "in": "header", "schema": {"type": "string"}},
    "ifRange": {"name": "If-Range", "in": "header", "schema": {"type": "string"}},
    "ifNoneMatch": {"name": "If-None-Match", "in": "header", "schema": {"type": "string"}}
    """
}

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
