import CipherSQL

/// A JSON object as fields and values, read by SQLite's own JSON functions, which keep integers of 64 bits. Numbers with
/// a fraction are taken as their text, as SQLite reads some as the number beside.
struct JSONFields {
  let fields: [(name: String, value: FieldInput)]

  /// Reads the members of an object.
  init(object: String, on connection: Connection) throws {
    var fields: [(name: String, value: FieldInput)] = []
    // A name with one of these characters, which none of a table has, could be no path or another's.
    let members: SQL = """
      SELECT key, type, atom, value,
        CASE WHEN type = 'real' AND key <> '' AND key NOT GLOB '*[$"\\[]*' THEN \(object) -> key END
      FROM json_each(\(object))
      """
    try connection.forEach(members) { row in
      let name = try row.decode(String.self, at: 0)
      fields.append((name, .typed(try Self.scalar(row))))
    }
    self.fields = fields
  }

  private static func scalar(_ row: borrowing Row) throws -> FieldInput.JSONScalar {
    switch try row.decode(String.self, at: 1) {
    case "null": .null
    case "true": .bool(true)
    case "false": .bool(false)
    case "integer": .integer(try row.decode(at: 2))
    case "real": .real(try row.decode(String?.self, at: 4).flatMap(Double.init) ?? row.decode(at: 2))
    case "text": .string(try row.decode(at: 2))
    default: .structure(try row.decode(at: 3))
    }
  }
}

/// The objects of a JSON document: one object, or an array of them.
struct JSONDocument {
  /// Calls `body` with each object.
  /// - Returns: true when the document is an array.
  /// - Throws: ``VaultError`` with `badValue` that names the place of the mistake.
  static func forEachObject(
    _ text: String, name: String, on connection: Connection, _ body: (Int, String) throws -> Void
  ) throws -> Bool {
    let position = try connection.fetchOne("SELECT json_error_position(\(text))", as: Int.self) ?? 0
    let isStrict = try connection.fetchOne("SELECT json_valid(\(text))", as: Bool.self) ?? false
    guard position == 0, isStrict else {
      throw VaultError(
        .badValue, "\(name):\(line(of: position, in: text)): this is not JSON",
        hint: "give an object or an array of objects")
    }
    let type = try connection.fetchOne("SELECT json_type(\(text))", as: String.self)
    if type == "object" {
      try body(0, text)
      return false
    }
    guard type == "array" else {
      throw VaultError(.badValue, "\(name): neither an object nor an array of objects")
    }
    try connection.forEach("SELECT key, type, value FROM json_each(\(text))") { row in
      let index = try row.decode(Int.self, at: 0)
      guard try row.decode(String.self, at: 1) == "object" else {
        throw VaultError(.badValue, "\(name): element \(index + 1) of the array is no object")
      }
      try body(index, try row.decode(at: 2))
    }
    return true
  }

  // SQLite counts characters from 1.
  private static func line(of position: Int, in text: String) -> Int {
    1 + text.unicodeScalars.prefix(max(position - 1, 0)).count { $0 == "\n" }
  }
}
