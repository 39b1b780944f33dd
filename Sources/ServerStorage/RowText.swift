import SyncModel

/// The JSON that all engines store of a record.
package enum RowText {
  /// Reads numbers by name.
  package static func numbers(_ text: String) throws -> [String: Int64] {
    if text == "{}" { return [:] }
    var numbers: [String: Int64] = [:]
    for member in try SyncObject(parsing: text).members {
      if case .integer(let number) = member.value { numbers[member.name] = number }
    }
    return numbers
  }

  /// Returns numbers by name.
  package static func text(_ numbers: [String: Int64]) -> String {
    numbers.isEmpty ? "{}" : SyncValue.object(SyncObject(numbers.map { ($0.key, .integer($0.value)) })).json
  }

  /// Reads the versions at the beginning of epochs.
  package static func startVersions(_ text: String) throws -> [Int: Int64] {
    if text == "{}" { return [:] }
    return Dictionary(
      try numbers(text).compactMap { name, version in Int(name).map { ($0, version) } },
      uniquingKeysWith: { first, _ in first })
  }

  /// Returns the versions at the beginning of epochs.
  package static func text(_ versions: [Int: Int64]) -> String {
    versions.isEmpty ? "{}" : SyncValue.object(SyncObject(versions.map { (String($0.key), .integer($0.value)) })).json
  }

  /// Reads a set of names.
  package static func names(_ text: String) throws -> Set<String> {
    guard text != "[]", case .array(let elements) = try SyncValue(parsing: text) else { return [] }
    return Set(
      elements.compactMap { element in
        if case .text(let name) = element { return name }
        return nil
      })
  }

  /// Returns a set of names.
  package static func text(_ names: Set<String>) -> String {
    names.isEmpty ? "[]" : SyncValue.array(names.sorted().map { .text($0) }).json
  }

  private static let (unique, released, references) = ("unique", "released", "references")

  /// Reads the values of unique keys, those released, and references of several columns.
  package static func keys(_ text: String) throws -> RecordKeys {
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

  /// Returns the values of unique keys, those released, and references of several columns.
  package static func text(_ keys: RecordKeys) -> String {
    func object(_ texts: [String: String]) -> SyncValue { .object(SyncObject(texts.map { ($0.key, .text($0.value)) })) }
    var members = SyncObject()
    if !keys.unique.isEmpty { members[unique] = object(keys.unique) }
    if !keys.released.isEmpty { members[released] = .array(keys.released.sorted().map { .text($0) }) }
    // A reference of one column is the value of the field.
    let several = keys.references.filter { $0.key.utf8.contains(UInt8(ascii: ",")) }
    if !several.isEmpty { members[references] = object(several) }
    return members.isEmpty ? "{}" : SyncValue.object(members).json
  }

  /// Returns the fields of a record without those that are NULL.
  package static func fields(_ fields: SyncObject) -> String {
    SyncValue.object(fields.filter { $0.value != .null }).json
  }
}
