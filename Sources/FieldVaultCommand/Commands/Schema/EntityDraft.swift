import CipherSQL
import CommandLineKit
import VaultStore

/// An entity of a new schema, as a word of the command line describes it: `Reading:value=REAL,stationId=Station`.
struct EntityDraft: Equatable {
  /// A field. A reference has the index of its entity.
  struct Field: Equatable {
    let name: String
    let type: FieldType
  }

  /// The type of a field.
  enum FieldType: Equatable {
    case text, integer, real, blob, bool, date, time, json
    /// A reference to the entity with this name.
    case reference(String)

    static let words: [(name: String, type: FieldType)] = [
      ("TEXT", .text), ("INTEGER", .integer), ("REAL", .real), ("BOOL", .bool), ("DATE", .date), ("TIME", .time),
      ("JSON", .json), ("BLOB", .blob),
    ]

    /// The names of the types, for messages.
    static var names: String { words.map(\.name).joined(separator: ", ") }
  }

  /// A word that describes no entity.
  struct Mistake: Error {
    let message: String
    let hint: String
  }

  /// The name, such as `Reading`.
  let name: String
  /// The fields; empty if only the name is given.
  let fields: [Field]

  /// The table, such as `OfflineReading`.
  var table: String { "Offline" + name }

  /// The column of the local id, such as `readingId`.
  var key: String { Self.key(of: name) }

  /// Returns the column of the local id of an entity: `Reading` becomes `readingId`, and `GPSFix` becomes `gpsFixId`.
  private static func key(of name: String) -> String {
    let capitals = name.prefix { $0.isUppercase }.count
    let lowered = capitals == name.count ? capitals : max(1, capitals - 1)
    return name.prefix(lowered).lowercased() + name.dropFirst(lowered) + "Id"
  }

  /// Parses the words of a command line.
  static func parse(_ words: [String]) throws(Mistake) -> [EntityDraft] {
    let parts = words.map { word in
      let sign = word.firstIndex(of: ":")
      return (name: String(word[..<(sign ?? word.endIndex)]), fields: sign.map { word[word.index(after: $0)...] })
    }
    let names = parts.map(\.name)
    for (index, name) in names.enumerated() {
      try check(name)
      if let twin = names[..<index].first(where: { $0.lowercased() == name.lowercased() }) {
        throw Mistake(
          message: "the entity '\(escaped(name))' is given twice",
          hint: twin == name ? "give each entity once" : "names must differ in more than case from '\(escaped(twin))'")
      }
    }
    var entities: [EntityDraft] = []
    for part in parts {
      var fields: [Field] = []
      for word in part.fields?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
        let field = try Self.field(String(word), of: part.name, among: names)
        if fields.contains(where: { $0.name.lowercased() == field.name.lowercased() }) {
          throw Mistake(
            message: "the field '\(field.name)' of \(part.name) is given twice", hint: "give each field once")
        }
        fields.append(field)
      }
      entities.append(EntityDraft(name: part.name, fields: fields))
    }
    return entities
  }

  private static func check(_ name: String) throws(Mistake) {
    guard name.utf8.count <= 60, let first = name.first, first.isASCII, first.isUppercase,
      name.utf8.allSatisfy(isWordCharacter)
    else {
      let better = name.prefix(1).uppercased() + name.dropFirst()
      let isOnlyLower =
        better != name && better.utf8.count <= 60 && better.utf8.allSatisfy(isWordCharacter)
        && better.first?.isUppercase == true
      throw Mistake(
        message: "'\(escaped(name))' is not the name of an entity",
        hint: isOnlyLower
          ? "write '\(better)'"
          : "use an upper-case letter and at most 59 further letters and digits, such as 'Reading'")
    }
    guard !FieldType.words.contains(where: { $0.name == name }) else {
      throw Mistake(message: "'\(name)' is the name of a type, not of an entity", hint: "use a name such as 'Reading'")
    }
    let own = CoreSchema.schema.migrations.contains {
      $0.sql.lowercased().contains("create table offline\(name.lowercased()) (")
    }
    guard !own else {
      throw Mistake(
        message: "the table Offline\(name) belongs to FieldVault itself", hint: "use another name, such as 'My\(name)'")
    }
  }

  private static func field(_ word: String, of entity: String, among entities: [String]) throws(Mistake) -> Field {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let name = parts.first ?? ""
    guard let first = name.utf8.first, (0x61...0x7a).contains(first), name.utf8.count <= 60,
      name.utf8.allSatisfy({ isWordCharacter($0) || $0 == 0x5f })
    else {
      throw Mistake(
        message: "'\(escaped(name))' is not the name of a field of \(entity)",
        hint: "use a lower-case letter and at most 59 further letters, digits and underscores, such as 'value'")
    }
    let kept = Entity.keptColumns.union(["uuid", Entity.userEditsColumn, key(of: entity)])
    guard !kept.contains(where: { $0.lowercased() == name.lowercased() }) else {
      throw Mistake(
        message: "\(entity).\(name) is maintained by FieldVault itself", hint: "omit the field; each table has it")
    }
    guard !["contentuuid", "contentkey", "contentdigest"].contains(name.lowercased()) else {
      throw Mistake(
        message: "\(entity).\(name) is a column of attachments",
        hint: "use another name, or add the columns of attachments to the written file")
    }
    guard parts.count == 2 else { return Field(name: name, type: .text) }
    let type = try Self.type(parts[1], of: "\(entity).\(name)", among: entities)
    if case .reference(let target) = type, !name.hasSuffix("Id") || name == "Id" {
      throw Mistake(
        message: "the reference \(entity).\(name) must end in 'Id'", hint: "write '\(name)Id=\(target)'")
    }
    return Field(name: name, type: type)
  }

  private static func type(_ word: String, of field: String, among entities: [String]) throws(Mistake) -> FieldType {
    if entities.contains(word) { return .reference(word) }
    let upper = word.uppercased()
    if let known = FieldType.words.first(where: { $0.name == upper }) { return known.type }
    let near = nearest(to: upper, in: FieldType.words.map(\.name)) ?? nearest(to: word, in: entities)
    throw Mistake(
      message: "\(field) has the unknown type '\(escaped(word))'",
      hint: near.map { "did you mean '\($0)'?" }
        ?? "use \(FieldType.names), or an entity of the command line: \(entities.joined(separator: ", "))")
  }

  private static func isWordCharacter(_ byte: UInt8) -> Bool {
    (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte)
  }
}
