import Platform
import HTTPServer
import ServerStorage
import SyncModel

/// An operation as a device sent it.
struct IncomingOperation: Sendable {
  let kind: OperationKind
  let name: RecordName
  /// The version that the change is based on; 0 for a new record.
  let baseVersion: Int64
  /// The epoch that `baseVersion` belongs to; `nil` if the device knows none.
  let baseEpoch: String?
  let createdAt: Int64
  var patch: RecordPatch
  /// The values that the fields had at `baseVersion`.
  let base: SyncObject

  /// The longest id of an operation.
  static let greatestIdLength = 200

  /// Checks an id, without which the server cannot respond.
  static func check(_ id: String, _ name: String) throws(HTTPProblem) {
    guard (1...greatestIdLength).contains(id.utf8.count) else { throw badId(name) }
  }

  /// An id of an operation.
  static func id(_ name: String, of object: SyncObject) throws(HTTPProblem) -> String {
    guard case .text(let id)? = object[name] else { throw badId(name) }
    try check(id, name)
    return id
  }

  private static func badId(_ name: String) -> HTTPProblem {
    .badRequest("\(name) is a text of 1 to \(greatestIdLength) bytes", field: name)
  }

  /// Takes an operation from a request.
  /// - Parameter now: the server's time in milliseconds; no time of the operation counts as later.
  /// - Throws: ``HTTPProblem`` that names the member.
  init(_ value: SyncValue, now: Int64) throws(HTTPProblem) {
    let sent: PushOperation
    do throws(SyncModelError) {
      sent = try PushOperation(wire: value)
    } catch {
      throw .invalid("\(error)", field: error.member)
    }
    guard UUIDText.isCanonical(sent.entityUuid) else {
      throw .invalid("entityUuid is a UUID in lower case", field: "entityUuid")
    }
    kind = sent.kind
    name = RecordName(sent.entityType, sent.entityUuid)
    baseVersion = kind == .create ? 0 : try Self.number(sent.baseVersion, "baseVersion", atMost: 1 << 52)
    baseEpoch = kind == .create ? nil : sent.baseEpoch
    patch = sent.patch
    patch.updatedAt = min(patch.updatedAt, now)
    patch.editTimes = patch.editTimes.mapValues { min($0, now) }
    createdAt = min(sent.createdAt ?? patch.updatedAt, now)
    base = sent.base
  }

  private static func number(_ number: Int64, _ name: String, atMost greatest: Int64) throws(HTTPProblem) -> Int64 {
    guard number <= greatest else { throw .invalid("\(name) is at most \(greatest)", field: name) }
    return number
  }
}
