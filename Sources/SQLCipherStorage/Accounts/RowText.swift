import CipherSQL
import ServerStorage
import SyncModel

/// The facts about a record as JSON.
enum RowText {
  static func numbers(_ text: String) throws -> [String: Int64] {
    if text == "{}" { return [:] }
    var numbers: [String: Int64] = [:]
    for member in try SyncObject(parsing: text).members {
      if case .integer(let number) = member.value { numbers[member.name] = number }
    }
    return numbers
  }

  static func text(_ numbers: [String: Int64]) -> String {
    numbers.isEmpty ? "{}" : SyncValue.object(SyncObject(numbers.map { ($0.key, .integer($0.value)) })).json
  }

  static func startVersions(_ text: String) throws -> [Int: Int64] {
    if text == "{}" { return [:] }
    return Dictionary(
      try numbers(text).compactMap { name, version in Int(name).map { ($0, version) } },
      uniquingKeysWith: { first, _ in first })
  }

  static func text(_ versions: [Int: Int64]) -> String {
    versions.isEmpty ? "{}" : SyncValue.object(SyncObject(versions.map { (String($0.key), .integer($0.value)) })).json
  }

  static func names(_ text: String) throws -> Set<String> {
    guard text != "[]", case .array(let elements) = try SyncValue(parsing: text) else { return [] }
    return Set(
      elements.compactMap { element in
        if case .text(let name) = element { return name }
        return nil
      })
  }

  static func text(_ names: Set<String>) -> String {
    names.isEmpty ? "[]" : SyncValue.array(names.sorted().map { .text($0) }).json
  }

  private static let (unique, released, references) = ("unique", "released", "references")

  static func keys(_ text: String) throws -> RecordKeys {
    if text == "{}" { return RecordKeys() }
    let object = try SyncObject(parsing: text)
    func texts(_ name: String) -> [String: String] {
      guard case .object(let members)? = object[name] else { return [:] }
      var texts: [String: String] = [:]
      for member in members.members {
        if case .text(let text) = member.value { texts[member.name] = text }
      }
      return texts
    }
    return RecordKeys(
      unique: texts(unique), released: try object[released].map { try names($0.json) } ?? [],
      references: texts(references))
  }

  static func text(_ keys: RecordKeys) -> String {
    func object(_ texts: [String: String]) -> SyncValue { .object(SyncObject(texts.map { ($0.key, .text($0.value)) })) }
    var members = SyncObject()
    if !keys.unique.isEmpty { members[unique] = object(keys.unique) }
    if !keys.released.isEmpty { members[released] = .array(keys.released.sorted().map { .text($0) }) }
    // A reference of one column is the value of the field.
    let several = keys.references.filter { $0.key.utf8.contains(UInt8(ascii: ",")) }
    if !several.isEmpty { members[references] = object(several) }
    return members.isEmpty ? "{}" : SyncValue.object(members).json
  }
}

extension RecordRow {
  /// Reads a row of `ServerRecord` with all its columns.
  init(_ row: borrowing Row) throws {
    let rootType: String? = try row.decode(at: 8)
    let rootUuid: String? = try row.decode(at: 9)
    let root = rootType.flatMap { type in rootUuid.map { RecordName(type, $0) } }
    let state = RecordState(
      fields: try SyncObject(parsing: row.decode(String.self, at: 15)), isDeleted: try row.decode(at: 6),
      syncVersion: try row.decode(at: 4), updatedAt: try row.decode(at: 13),
      editTimes: try RowText.numbers(row.decode(at: 17)), userEditedFields: try RowText.names(row.decode(at: 16)))
    self.init(
      record: ServerRecord(
        name: RecordName(try row.decode(at: 1), try row.decode(at: 2)), serverId: try row.decode(at: 3),
        sequence: try row.decode(at: 0), createdAt: try row.decode(at: 12), state: state,
        fieldVersions: try RowText.numbers(row.decode(at: 18)), firstVersion: try row.decode(at: 5),
        startVersions: try RowText.startVersions(row.decode(at: 19)), deletedWith: root,
        serviceFields: try RowText.names(row.decode(at: 20))),
      isCascaded: try row.decode(at: 7), project: try row.decode(at: 10), digest: try row.decode(at: 11),
      storedAt: try row.decode(at: 14), keys: try RowText.keys(row.decode(at: 21)))
  }
}
