/// The response to `POST /v1/files/digests`, which has the same request as `POST /v1/files/missing`.
public struct FileDigestsResponse: Equatable, Sendable {
  /// The server's bytes of one file.
  public struct Held: Equatable, Sendable {
    /// The size of the file, in bytes.
    public var byteCount: Int64
    /// The SHA-256 of the bytes, in hexadecimal digits; `nil` if the server does not know it.
    public var sha256: String?
    /// The SHA-256 of the unencrypted content, in hexadecimal digits, if the server compared it with the record.
    public var contentDigest: String?

    /// Creates the data of a file.
    public init(byteCount: Int64, sha256: String?, contentDigest: String?) {
      (self.byteCount, self.sha256, self.contentDigest) = (byteCount, sha256, contentDigest)
    }
  }

  /// The files that the server has, by requested name.
  public var files: [String: Held]

  /// Creates a response.
  public init(files: [String: Held]) { self.files = files }
}

extension FileDigestsResponse: WireMessage {
  /// Parses a response.
  public init(wire: SyncValue) throws(SyncModelError) {
    var files: [String: Held] = [:]
    for member in try WireReader(wire).object("files").members {
      let reader = try WireReader(member.value)
      files[member.name] = Held(
        byteCount: try reader.natural("bytes"), sha256: try reader.optional("sha256", reader.text),
        contentDigest: try reader.optional("contentSha256", reader.text))
    }
    self.init(files: files)
  }

  /// The response in the wire format.
  public var wire: SyncValue {
    var object = SyncObject()
    for name in files.keys.sorted() {
      guard let held = files[name] else { continue }
      var value: SyncObject = ["bytes": .integer(held.byteCount)]
      if let sha256 = held.sha256 { value["sha256"] = .text(sha256) }
      if let digest = held.contentDigest { value["contentSha256"] = .text(digest) }
      object[name] = .object(value)
    }
    return ["files": .object(object)]
  }
}

/// The request `POST /v1/files/missing` for the files that the server lacks.
public struct MissingFilesRequest: Equatable, Sendable {
  /// The greatest number of files in a request.
  public static let greatestCount = 500

  /// The files, at most ``greatestCount``, each a lowercase UUID and a variant: `0195b2c0-.../full`.
  public var files: [String]

  /// Creates a request for at most ``greatestCount`` files.
  public init(files: [String]) { self.files = files }
}

extension MissingFilesRequest: WireMessage {
  /// Reads a request.
  public init(wire: SyncValue) throws(SyncModelError) { self.init(files: try WireReader(wire).names("files")) }

  /// The request in the wire format.
  public var wire: SyncValue { ["files": .array(files.map(SyncValue.text))] }
}

/// The response to `POST /v1/files/missing`.
public struct MissingFilesResponse: Equatable, Sendable {
  /// The requested files that the server lacks.
  public var missing: [String]

  /// Creates a response.
  public init(missing: [String]) { self.missing = missing }
}

extension MissingFilesResponse: WireMessage {
  /// Parses a response.
  public init(wire: SyncValue) throws(SyncModelError) { self.init(missing: try WireReader(wire).names("missing")) }

  /// The response in the wire format.
  public var wire: SyncValue { ["missing": .array(missing.map(SyncValue.text))] }
}
