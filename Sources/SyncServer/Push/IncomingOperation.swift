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
  /// The number of the newest schema file that the device has applied, where it says so.
  let schemaVersion: Int64?
  let createdAt: Int64
  var patch: RecordPatch
  /// The values that the fields had at `baseVersion`.
  let base: SyncObject

  /// The longest id of an operation.
  static let greatestIdLength = 200

  /// An id of an operation, without which the server cannot respond to it.
  static func id(_ name: String, of object: SyncObject) throws(HTTPProblem) -> String {
    guard case .text(let id)? = object[name], (1...greatestIdLength).contains(id.utf8.count) else {
      throw .badRequest("every operation has a text of 1 to \(greatestIdLength) bytes as \(name)", field: name)
    }
    return id
  }

  /// Reads an operation. Members that are not known are left alone.
  /// - Parameter now: the server's time in milliseconds; no time of the operation counts as later.
  /// - Throws: ``HTTPProblem`` that names the member.
  init(_ value: SyncValue, now: Int64) throws(HTTPProblem) {
    let members = Members(value)
    guard let kind = OperationKind(rawValue: try members.text("operationType")) else {
      throw .invalid("operationType is create, update or delete", field: "operationType")
    }
    let uuid = try members.text("entityUuid")
    guard UUIDText.isCanonical(uuid) else { throw .invalid("entityUuid is a UUID in lower case", field: "entityUuid") }
    self.kind = kind
    name = RecordName(try members.text("entityType"), uuid)
    baseVersion = kind == .create ? 0 : try members.number("baseVersion", in: 0...(1 << 52)) ?? 0
    baseEpoch = kind == .create ? nil : try members.optionalText("baseEpoch")
    schemaVersion = try members.number("schemaVersion", in: 0...(1 << 31))
    let updatedAt = min(try members.time("updatedAt") ?? now, now)
    createdAt = min(try members.time("createdAt") ?? updatedAt, now)
    base = try members.object("base") ?? [:]
    patch = RecordPatch(
      fields: try members.object("fields") ?? [:],
      isDeleted: kind == .delete ? true : try members.flag("isDeleted"),
      userEditedFields: try members.names("userEditedFields"), updatedAt: updatedAt,
      editTimes: try members.times("editTimes").mapValues { min($0, now) })
    if kind != .delete, patch.isDeleted == true {
      throw .invalid("isDeleted is false or absent; a deletion is an operation of its own", field: "isDeleted")
    }
  }
}

/// The members of an object of the wire by type.
private struct Members {
  let object: SyncObject

  init(_ value: SyncValue) {
    if case .object(let object) = value { self.object = object } else { object = [:] }
  }

  func text(_ name: String) throws(HTTPProblem) -> String {
    guard case .text(let text)? = object[name] else { throw .invalid("\(name) is missing, or not a text", field: name) }
    return text
  }

  func optionalText(_ name: String) throws(HTTPProblem) -> String? {
    switch object[name] {
    case nil, .null: return nil
    case .text(let text): return text
    default: throw .invalid("\(name) is not a text", field: name)
    }
  }

  func number(_ name: String, in range: ClosedRange<Int64>) throws(HTTPProblem) -> Int64? {
    switch object[name] {
    case nil: return nil
    case .integer(let number) where range.contains(number): return number
    default: throw .invalid("\(name) is a whole number from \(range.lowerBound) on", field: name)
    }
  }

  func flag(_ name: String) throws(HTTPProblem) -> Bool? {
    switch object[name] {
    case nil: return nil
    case .bool(let flag): return flag
    default: throw .invalid("\(name) is true or false", field: name)
    }
  }

  func object(_ name: String) throws(HTTPProblem) -> SyncObject? {
    switch object[name] {
    case nil, .null: return nil
    case .object(let object): return object
    default: throw .invalid("\(name) is an object", field: name)
    }
  }

  func time(_ name: String) throws(HTTPProblem) -> Int64? {
    switch object[name] {
    case nil, .null: return nil
    case .text(let text):
      if let milliseconds = WireTime.milliseconds(text) { return milliseconds }
      fallthrough
    default: throw .invalid("\(name) is a time in UTC with milliseconds, as in 2013-01-31T06:00:00.000Z", field: name)
    }
  }

  func times(_ name: String) throws(HTTPProblem) -> [String: Int64] {
    let members = Members(.object(try object(name) ?? [:]))
    var times: [String: Int64] = [:]
    for field in members.object.names { times[field] = try members.time(field) }
    return times
  }

  func names(_ name: String) throws(HTTPProblem) -> Set<String>? {
    switch object[name] {
    case nil, .null: return nil
    case .array(let elements):
      var names: Set<String> = []
      for element in elements {
        guard case .text(let text) = element else { throw .invalid("\(name) is a list of texts", field: name) }
        names.insert(text)
      }
      return names
    default: throw .invalid("\(name) is a list of texts", field: name)
    }
  }
}
