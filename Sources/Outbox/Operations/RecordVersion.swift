import SyncModel

/// A version of a record as one flat JSON object in the conflict table: the fields, `isDeleted`, `syncVersion`,
/// `updatedAt`, and `editTimes` and `userEditedFields` if they are not empty.
package enum RecordVersion {
  private static let common: Set<String> = ["isDeleted", "syncVersion", "updatedAt", "editTimes", "userEditedFields"]

  package static func json(_ state: RecordState) -> String {
    var object = state.fields
    object["isDeleted"] = .bool(state.isDeleted)
    object["syncVersion"] = .integer(state.syncVersion)
    object["updatedAt"] = .text(WireTime.text(state.updatedAt))
    if !state.editTimes.isEmpty {
      object["editTimes"] = .object(SyncObject(state.editTimes.map { ($0.key, .text(WireTime.text($0.value))) }))
    }
    if !state.userEditedFields.isEmpty {
      object["userEditedFields"] = .array(state.userEditedFields.sorted().map { .text($0) })
    }
    return SyncValue.object(object).json
  }

  package static func state(_ json: String) throws(SyncModelError) -> RecordState {
    let object = try SyncObject(parsing: json)
    var times: [String: Int64] = [:]
    if case .object(let edits)? = object["editTimes"] {
      for member in edits.members { times[member.name] = time(member.value) }
    }
    var edited: Set<String> = []
    if case .array(let names)? = object["userEditedFields"] {
      for case .text(let name) in names { edited.insert(name) }
    }
    var version: Int64 = 0
    if case .integer(let number)? = object["syncVersion"] { version = number }
    return RecordState(
      fields: object.filter { !common.contains($0.name) }, isDeleted: object["isDeleted"] == true,
      syncVersion: version, updatedAt: object["updatedAt"].flatMap(time) ?? 0, editTimes: times,
      userEditedFields: edited)
  }

  private static func time(_ value: SyncValue) -> Int64? {
    guard case .text(let text) = value else { return nil }
    return WireTime.milliseconds(text)
  }
}
