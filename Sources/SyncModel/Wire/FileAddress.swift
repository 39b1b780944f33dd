/// The request `POST /v1/files/UUID/VARIANT/address` for an upload address.
public struct FileAddressRequest: Equatable, Sendable {
  /// The number of bytes that will be sent.
  public var byteCount: Int64
  /// The SHA-256 of the bytes, in base64.
  public var sha256: String
  /// The media type.
  public var contentType: String

  /// Creates a request.
  public init(byteCount: Int64, sha256: String, contentType: String) {
    (self.byteCount, self.sha256, self.contentType) = (byteCount, sha256, contentType)
  }
}

extension FileAddressRequest: WireMessage {
  /// Reads a request.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      byteCount: try reader.natural("bytes"), sha256: try reader.text("sha256"),
      contentType: try reader.text("contentType"))
  }

  /// The request in the wire format.
  public var wire: SyncValue {
    ["bytes": .integer(byteCount), "sha256": .text(sha256), "contentType": .text(contentType)]
  }
}

/// A temporary address for an upload or a download without the token.
public struct FileAddress: Equatable, Sendable {
  /// The whole address, or a path on the server, which requires the token.
  public var url: String
  /// `PUT` or `GET`.
  public var method: String
  /// The headers that must be sent unchanged.
  public var headers: [String: String]
  /// The expiry time, in milliseconds since 1970-01-01 UTC by the server's clock.
  public var expiresAt: Int64
  /// The server's name for the upload; `nil` for a download address.
  public var upload: String?

  /// Creates an address.
  public init(url: String, method: String, headers: [String: String], expiresAt: Int64, upload: String? = nil) {
    (self.url, self.method, self.headers, self.expiresAt) = (url, method, headers, expiresAt)
    self.upload = upload
  }
}

extension FileAddress: WireMessage {
  /// Parses a response.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    var headers: [String: String] = [:]
    for member in try reader.object("headers").members {
      guard case .text(let value) = member.value else {
        throw reader.wrong("headers", "expected an object of strings")
      }
      headers[member.name] = value
    }
    self.init(
      url: try reader.text("url"), method: try reader.text("method"), headers: headers,
      expiresAt: try reader.time("expiresAt"), upload: try reader.optional("upload", reader.text))
  }

  /// The response in the wire format.
  public var wire: SyncValue {
    var object: SyncObject = [
      "url": .text(url), "method": .text(method), "expiresAt": .text(WireTime.text(expiresAt)),
    ]
    var values = SyncObject()
    for name in headers.keys.sorted() { values[name] = headers[name].map { .text($0) } }
    object["headers"] = .object(values)
    if let upload { object["upload"] = .text(upload) }
    return .object(object)
  }
}

/// The request `POST /v1/files/UUID/VARIANT/confirm`, which confirms that a file was sent to its address.
public struct FileConfirmation: Equatable, Sendable {
  /// The server's name of the upload, from ``FileAddress/upload``.
  public var upload: String

  /// Creates a confirmation.
  public init(upload: String) { self.upload = upload }
}

extension FileConfirmation: WireMessage {
  /// Parses a confirmation.
  public init(wire: SyncValue) throws(SyncModelError) { self.init(upload: try WireReader(wire).text("upload")) }

  /// The confirmation in the wire format.
  public var wire: SyncValue { ["upload": .text(upload)] }
}

/// The response to a ``FileConfirmation``.
public struct FileConfirmed: Equatable, Sendable {
  /// The path of the file at the server.
  public var content: String

  /// Creates a response.
  public init(content: String) { self.content = content }
}

extension FileConfirmed: WireMessage {
  /// Parses a response.
  public init(wire: SyncValue) throws(SyncModelError) { self.init(content: try WireReader(wire).text("content")) }

  /// The response in the wire format.
  public var wire: SyncValue { ["content": .text(content)] }
}
