import HTTPServer
import Platform
import ServerStorage
import SyncModel

/// The ids of a push: device, operation and idempotency key.
enum PushId {
  /// The longest id in bytes.
  static let greatestLength = 200

  /// Checks an id, without which the server cannot respond.
  static func check(_ id: String, _ name: String) throws(HTTPProblem) {
    guard (1...greatestLength).contains(id.utf8.count) else { throw problem(name) }
  }

  /// Returns an id of an operation.
  static func read(_ name: String, of object: SyncObject) throws(HTTPProblem) -> String {
    guard case .text(let id)? = object[name] else { throw problem(name) }
    try check(id, name)
    return id
  }

  private static func problem(_ name: String) -> HTTPProblem {
    .badRequest("\(name) is a text of 1 to \(greatestLength) bytes", field: name)
  }
}

extension PushOperation {
  /// The record that the operation names.
  var name: RecordName { RecordName(entityType, entityUuid) }

  /// Parses and checks an operation of a request.
  /// - Parameter now: the server's time in milliseconds, which replaces every later time of the operation.
  /// - Throws: ``HTTPProblem`` that names the member.
  init(checking members: SyncObject, now: Int64) throws(HTTPProblem) {
    do throws(SyncModelError) {
      self = try PushOperation(wire: .object(members))
    } catch {
      throw .invalid("\(error)", field: error.member)
    }
    guard UUIDText.isCanonical(entityUuid) else {
      throw .invalid("entityUuid is a UUID in lower case", field: "entityUuid")
    }
    guard baseVersion <= Self.greatestVersion else {
      throw .invalid("baseVersion is at most \(Self.greatestVersion)", field: "baseVersion")
    }
    if kind == .create { (baseVersion, baseEpoch) = (0, nil) }
    patch.updatedAt = min(patch.updatedAt, now)
    patch.editTimes = patch.editTimes.mapValues { min($0, now) }
    createdAt = min(createdAt ?? patch.updatedAt, now)
  }

  private static let greatestVersion: Int64 = 1 << 52
}
