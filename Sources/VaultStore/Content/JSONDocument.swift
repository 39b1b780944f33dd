import CipherSQL
import SyncModel

/// The fields of a JSON object, parsed by SQLite's JSON functions, which keep 64-bit integers. Numbers with a
/// fraction are parsed from their text, because SQLite reads some of them as an adjacent number.
struct JSONFields {
  let fields: [(name: String, value: FieldInput)]

  /// Reads the members of the object of a new or changed record.
  /// - Throws: ``VaultError`` with `badValue` for a text with a lone surrogate, which JSON can express and UTF-8
  ///   cannot.
  init(object: String, of entity: Entity, on connection: Connection) throws {
    var fields: [(name: String, value: FieldInput)] = []
    // The operator `->` could read a name with one of these characters as a path or as another name. Such a member
    // keeps SQLite's number.
    let members: SQL = """
      SELECT key, type, atom, value,
        CASE WHEN type = 'real' AND key <> '' AND key NOT GLOB '*[$"\\[]*' THEN \(object) -> key END
      FROM json_each(\(object))
      """
    try connection.forEach(members) { row in
      let name = try row.decode(String.self, at: 0)
      guard let scalar = try Self.scalar(row) else {
        throw VaultError(
          .badValue, "\(entity.type).\(name) has an unpaired surrogate", name: name)
      }
      fields.append((name, .typed(scalar)))
    }
    self.fields = fields
  }

  /// Returns the value of a row; `nil` for a text with a lone surrogate.
  private static func scalar(_ row: borrowing Row) throws -> FieldInput.JSONScalar? {
    switch try row.decode(String.self, at: 1) {
    case "null": .null
    case "true": .bool(true)
    case "false": .bool(false)
    case "integer":
      // SQLite reads an integer beyond 64 bits as the nearest REAL.
      switch try row.decode(SQLArgument.self, at: 2) {
      case .integer(let value): .integer(value)
      default: .real(try row.decode(at: 2))
      }
    case "real": .real(try row.decode(String?.self, at: 4).flatMap(Double.init) ?? row.decode(at: 2))
    case "text":
      // SQLite converts a lone surrogate to bytes that are not UTF-8.
      try row.withText(at: 2) { (bytes) throws(SQLError) in String(validating: bytes, as: UTF8.self) }.map {
        .string($0)
      }
    default:
      // The text of an array or object keeps its escape sequences.
      try structure(row)
    }
  }

  private static func structure(_ row: borrowing Row) throws -> FieldInput.JSONScalar? {
    let text = try row.decode(String.self, at: 3)
    do throws(SyncModelError) {
      _ = try SyncValue(parsing: text)
    } catch  where error.code == .loneSurrogate {
      return nil
    } catch {
      // Other JSON that cannot be sent fails when the record is sent; `why` then names the field.
    }
    return .structure(text)
  }
}

/// The objects of a JSON document, which is one object or an array of objects.
struct JSONDocument {
  /// Calls `body` with the index and the text of each object.
  /// - Returns: whether the document is an array.
  /// - Throws: ``VaultError`` with `badValue`, which names the position of the error.
  static func forEachObject(
    _ text: String, name: String, on connection: Connection, _ body: (Int, String) throws -> Void
  ) throws -> Bool {
    guard try connection.fetchOne("SELECT json_valid(\(text))", as: Bool.self) ?? false else {
      throw try mistake(in: text, name: name, on: connection)
    }
    let type = try connection.fetchOne("SELECT json_type(\(text))", as: String.self)
    if type == "object" {
      try body(0, text)
      return false
    }
    guard type == "array" else {
      throw VaultError(.badValue, "\(name): not an object or an array of objects")
    }
    try connection.forEach("SELECT key, type, value FROM json_each(\(text))") { row in
      let index = try row.decode(Int.self, at: 0)
      guard try row.decode(String.self, at: 1) == "object" else {
        throw VaultError(.badValue, "\(name): element \(index + 1) of the array is not an object")
      }
      try body(index, try row.decode(at: 2))
    }
    return true
  }

  /// Returns the error for invalid JSON, with the line of the mistake.
  private static func mistake(in text: String, name: String, on connection: Connection) throws -> VaultError {
    let before: Substring.UTF8View
    var what = "invalid JSON"
    do {
      _ = try SyncValue(parsing: text)
      // The parser of the wire format accepts some text that SQLite refuses. SQLite counts characters from 1.
      let position = try connection.fetchOne("SELECT json_error_position(\(text))", as: Int.self) ?? 0
      before = Substring(text.unicodeScalars.prefix(max(position - 1, 0))).utf8
    } catch let error as SyncModelError {
      before = text.utf8.prefix(error.byteOffset ?? 0)
      if error.message != what { what += ": \(error.message)" }
    }
    let line = 1 + before.count { $0 == UInt8(ascii: "\n") }
    return VaultError(.badValue, "\(name):\(line): \(what)", hint: "give an object or an array of objects")
  }
}

/// The lines on which the elements of a JSON array begin, or the line on which any other document begins. The text
/// must be valid JSON.
///
/// SQLite does not report the positions of elements.
struct JSONElementLines {
  private var rest: Substring.UTF8View
  private var line = 1

  init(_ text: String) {
    rest = Substring(text).utf8
    skipSpace()
    if rest.first == UInt8(ascii: "[") { rest.removeFirst() }
  }

  /// Returns the line of the next element, counted from 1. Complexity: linear in the length of the element.
  mutating func next() -> Int {
    skipSpace()
    let begin = line
    var depth = 0
    var isQuoted = false
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\n"): line += 1
      case UInt8(ascii: "\\") where isQuoted: rest = rest.dropFirst()
      case UInt8(ascii: "\""): isQuoted.toggle()
      case _ where isQuoted: break
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ",") where depth == 0: return begin
      default: break
      }
    }
    return begin
  }

  private mutating func skipSpace() {
    while let byte = rest.first, [0x20, 0x09, 0x0a, 0x0d].contains(byte) {
      if byte == UInt8(ascii: "\n") { line += 1 }
      rest.removeFirst()
    }
  }
}
