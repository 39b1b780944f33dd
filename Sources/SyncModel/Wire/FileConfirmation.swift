/// `POST /v1/files/UUID/VARIANT/confirm`: tells the server that a file was sent to its address.
public struct FileConfirmation: Equatable, Sendable {
  /// The server's name of the upload, from ``FileAddress/upload``.
  public var upload: String

  /// A confirmation.
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
