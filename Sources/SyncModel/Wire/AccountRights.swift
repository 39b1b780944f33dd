/// The body of `POST /v1/account/export`.
public struct AccountExportRequest: Equatable, Sendable {
  /// The cursor of the page before; `nil` begins an export.
  public var cursor: String?

  /// Creates a request.
  public init(cursor: String? = nil) { self.cursor = cursor }
}

extension AccountExportRequest: WireMessage {
  /// Parses the request.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(cursor: try reader.optional("cursor", reader.text))
  }

  /// The request in the wire format.
  public var wire: SyncValue { .object(SyncObject(present: ["cursor": cursor.map(SyncValue.text)])) }
}

/// The response to `DELETE /v1/account`: the contents of the account that are removed.
public struct AccountDeleted: Equatable, Sendable {
  /// The number of records, with deleted ones that are not forgotten.
  public var rows: Int64
  /// The number of files and unfinished uploads.
  public var files: Int64
  /// The number of stored responses.
  public var responses: Int64

  /// Creates a response.
  public init(rows: Int64, files: Int64, responses: Int64) {
    (self.rows, self.files, self.responses) = (rows, files, responses)
  }
}

extension AccountDeleted: WireMessage {
  /// Parses the response.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      rows: try reader.natural("rows"), files: try reader.natural("files"), responses: try reader.natural("responses"))
  }

  /// The response in the wire format.
  public var wire: SyncValue {
    ["files": .integer(files), "responses": .integer(responses), "rows": .integer(rows)]
  }
}
