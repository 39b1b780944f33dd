/// The identity of an operation, which the server executes at most once: its idempotency key and the digest of its
/// content.
public struct OperationContent: Equatable, Sendable {
  /// The idempotency key.
  public let key: String
  /// SHA-256 of the canonical JSON of the operation without its key, in hexadecimal digits. If a schema file has renamed
  /// fields since the operation was sealed, the digest is that of the operation with the former names.
  public let digest: String
  /// Whether a schema file has renamed fields since the operation was sealed.
  public let isRenamed: Bool

  /// Creates the identity of an operation.
  public init(key: String, operation: SyncObject) {
    self.key = key
    if case .text(let digest)? = operation["sealedDigest"], SHA256.isHexDigest(digest) {
      (self.digest, isRenamed) = (digest, true)
    } else {
      digest = SyncValue.object(operation.filter { $0.name != "idempotencyKey" }).digest
      isRenamed = false
    }
  }
}

/// The server's decision about an operation, by its idempotency key.
public enum KeyDecision: Equatable, Sendable {
  /// The key is new.
  case execute
  /// The same operation was executed before: the stored response is returned.
  case returnStoredResponse
  /// The key belongs to another operation.
  case keyReused

  /// Decides about an operation.
  /// - Parameters:
  ///   - stored: the digest of the stored response; `nil` without a stored response, `.some(nil)` for a response that
  ///     version 1 of the wire format stored without a digest.
  ///   - isTakenOver: whether the record shows that a response without a digest belongs to this operation.
  public init(stored: String??, content: OperationContent, isTakenOver: () throws -> Bool) rethrows {
    switch stored {
    case nil: self = .execute
    case .some(.none): self = try isTakenOver() ? .returnStoredResponse : .keyReused
    case .some(.some(let digest)): self = digest == content.digest ? .returnStoredResponse : .keyReused
    }
  }
}

/// The last push of a device that the server knows.
public struct DeviceCounter: Equatable, Sendable {
  /// The counter of the push.
  public var counter: Int64
  /// The digest of its operations.
  public var digest: String

  /// Creates a push.
  public init(counter: Int64, digest: String) { (self.counter, self.digest) = (counter, digest) }

  /// Creates the counter of a push with these operations.
  public init(counter: Int64, operations: [OperationContent]) {
    var digest = SHA256()
    for operation in operations { digest.add("\(operation.key) \(operation.digest)\n") }
    self.init(counter: counter, digest: digest.hexDigest)
  }

  /// Returns whether this push proves that two copies of a vault use one device id: its counter was already used with
  /// other operations.
  public func provesCopy(after last: DeviceCounter?) -> Bool {
    guard let last else { return false }
    return counter < last.counter || counter == last.counter && digest != last.digest
  }
}
