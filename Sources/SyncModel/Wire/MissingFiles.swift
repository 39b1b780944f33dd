/// `POST /v1/files/missing`: asks which of some files the server does not have.
public struct MissingFilesRequest: Equatable, Sendable {
  /// How many files one request may ask for.
  public static let greatestCount = 500

  /// At most ``greatestCount``, each a uuid in lower case and a variant: `0195b2c0-.../full`.
  public var files: [String]

  /// A request for at most ``greatestCount`` files.
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
  /// The files that the server does not have, as they were asked for.
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
