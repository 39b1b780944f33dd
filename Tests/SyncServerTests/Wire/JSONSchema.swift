import SyncModel
import TestSupport

/// The schemas of the OpenAPI document: validates values and generates instances.
///
/// Validation is closed: a member that the schema does not name is a problem, unless it allows additional ones. A keyword
/// that this type does not know is a problem too, so that no rule of the document stays unchecked.
struct JSONSchema {
  let schemas: SyncValue
  /// The properties that validated values had, as `Schema.property` or `Schema.property.property`.
  private(set) var seen: Set<String> = []

  init(_ document: SyncValue) { schemas = document["components"]?["schemas"] ?? .null }

  private static let known: Set = [
    "type", "description", "enum", "const", "required", "properties", "additionalProperties", "items", "maxItems",
    "minLength", "maxLength", "minimum", "maximum", "pattern", "format", "oneOf",
  ]

  // MARK: Validating

  /// Returns the violations of a schema, each with its place.
  mutating func problems(_ value: SyncValue, as name: String) -> [String] {
    guard let schema = schemas[name] else { return ["no schema \(name)"] }
    return problems(value, schema, name)
  }

  private mutating func problems(_ value: SyncValue, _ schema: SyncValue, _ place: String) -> [String] {
    if let name = Self.reference(schema) { return problems(value, as: name) }
    if schema == true { return [] }
    guard case .object(let keywords) = schema else { return ["\(place): not a schema"] }
    if case .array(let choices)? = keywords["oneOf"] {
      let results = choices.map { choice in
        var copy = self
        return (problems: copy.problems(value, choice, place), schema: copy)
      }
      let matches = results.filter { $0.problems.isEmpty }
      guard matches.count == 1, let match = matches.first else {
        return ["\(place): \(matches.count) of the choices match: \(results.map(\.problems))"]
      }
      self = match.schema
      return []
    }
    var found = keywords.names.filter { !Self.known.contains($0) }.map { "\(place): unknown keyword \($0)" }
    if let constant = keywords["const"], constant != value { found.append("\(place): is not \(constant.json)") }
    if case .array(let words)? = keywords["enum"], !words.contains(value) {
      found.append("\(place): \(value.json) is none of \(words.map(\.json))")
    }
    if value == .null, Self.types(of: schema).dropFirst().contains("null") { return found }
    guard let type = Self.types(of: schema).first else { return found }
    switch (type, value) {
    case ("object", .object(let object)): found += members(object, keywords, place)
    case ("array", .array(let elements)):
      if case .integer(let most)? = keywords["maxItems"], elements.count > Int(most) {
        found.append("\(place): too many")
      }
      if let items = keywords["items"] { for element in elements { found += problems(element, items, place + "[]") } }
    case ("string", .text(let text)): found += Self.problems(text, keywords, place)
    case ("integer", .integer(let number)):
      if case .integer(let least)? = keywords["minimum"], number < least {
        found.append("\(place): \(number) is too low")
      }
      if case .integer(let most)? = keywords["maximum"], number > most {
        found.append("\(place): \(number) is too high")
      }
    case ("boolean", .bool), ("null", .null): break
    default: found.append("\(place): \(value.json) is not of type \(type)")
    }
    return found
  }

  private mutating func members(_ object: SyncObject, _ keywords: SyncObject, _ place: String) -> [String] {
    var found: [String] = []
    let properties: SyncObject = if case .object(let named)? = keywords["properties"] { named } else { [:] }
    if case .array(let required)? = keywords["required"] {
      for case .text(let name) in required where object[name] == nil { found.append("\(place): \(name) is missing") }
    }
    for member in object.members {
      if let schema = properties[member.name] {
        seen.insert("\(place).\(member.name)")
        found += problems(member.value, schema, "\(place).\(member.name)")
      } else if let schema = keywords["additionalProperties"] {
        found += problems(member.value, schema, place + ".*")
      } else if keywords["properties"] != nil {
        found.append("\(place): \(member.name) is not in the document")
      }
    }
    return found
  }

  private static func problems(_ text: String, _ keywords: SyncObject, _ place: String) -> [String] {
    var found: [String] = []
    if case .text(let pattern)? = keywords["pattern"] {
      let matches = (try? Regex(pattern).wholeMatch(in: text)) ?? nil
      if matches == nil { found.append("\(place): '\(text)' does not match \(pattern)") }
    }
    if keywords["format"] == "date-time", WireTime.milliseconds(text) == nil { found.append("\(place): not a time") }
    if case .integer(let least)? = keywords["minLength"], text.utf8.count < least {
      found.append("\(place): too short")
    }
    if case .integer(let most)? = keywords["maxLength"], text.utf8.count > most { found.append("\(place): too long") }
    return found
  }

  /// Returns the type of a schema, and `null` as the second one if it accepts a null.
  private static func types(of schema: SyncValue) -> [String] {
    switch schema["type"] {
    case .text(let type)?: [type]
    case .array(let types)?: types.compactMap { if case .text(let type) = $0 { type } else { nil } }
    default: []
    }
  }

  private static func reference(_ schema: SyncValue) -> String? {
    guard case .text(let text)? = schema["$ref"] else { return nil }
    return text.split(separator: "/").last.map(String.init)
  }

  // MARK: Generating

  /// Returns instances of a schema: for each choice and each word of an enumeration at least one.
  /// - Parameter isFull: whether optional properties are present.
  func instances(of name: String, isFull: Bool) throws -> [SyncValue] {
    guard let schema = schemas[name] else { throw Unexpected("no schema \(name)") }
    return try instances(schema, isFull)
  }

  private func instances(_ schema: SyncValue, _ isFull: Bool) throws -> [SyncValue] {
    if let name = Self.reference(schema) { return try instances(of: name, isFull: isFull) }
    if case .array(let choices)? = schema["oneOf"] { return try choices.flatMap { try instances($0, isFull) } }
    if let constant = schema["const"] { return [constant] }
    if case .array(let words)? = schema["enum"] { return words }
    if schema == true { return ["anything"] }
    // A null counts as absent, and is not printed again.
    guard let type = Self.types(of: schema).first else { throw Unexpected("no type: \(schema.json)") }
    switch type {
    case "object": return try objects(schema, isFull)
    case "array": return [.array(isFull ? try schema["items"].map { try instances($0, isFull) } ?? [] : [])]
    case "string": return [.text(try Self.text(schema))]
    case "integer":
      if case .integer(let least)? = schema["minimum"] { return [.integer(max(least, 1))] }
      return [7]
    case "boolean": return [false, true]
    case "null": return [.null]
    default: throw Unexpected("type \(type)")
    }
  }

  private func objects(_ schema: SyncValue, _ isFull: Bool) throws -> [SyncValue] {
    var first: SyncObject = [:]
    var others: [(name: String, value: SyncValue)] = []
    if case .object(let properties)? = schema["properties"] {
      var names = properties.names
      if !isFull {
        guard case .array(let required)? = schema["required"] else { return [[:]] }
        names = names.filter { required.contains(.text($0)) }
      }
      for name in names {
        let values = try properties[name].map { try instances($0, isFull) } ?? []
        first[name] = values.first
        others += values.dropFirst().map { (name, $0) }
      }
    } else if isFull, let additional = schema["additionalProperties"] {
      // An edit time that equals `updatedAt` is left out, so times by name differ from all others.
      let value = try instances(additional, isFull).first
      first["name"] = value == Self.time ? "2026-03-01T07:00:00.000Z" : value
    }
    return [.object(first)]
      + others.map { other in
        var object = first
        object[other.name] = other.value
        return .object(object)
      }
  }

  private static let time: SyncValue = "2026-03-01T08:00:00.000Z"

  private static func text(_ schema: SyncValue) throws -> String {
    if schema["format"] == "date-time", case .text(let text) = time { return text }
    if case .text(let pattern)? = schema["pattern"] {
      let uuid = "0195b2c0-0000-7000-8000-000000000001"
      let candidates = [uuid, uuid + "/full", String(repeating: "0", count: 64), "epoch-1", "00"]
      for candidate in candidates where try Regex(pattern).wholeMatch(in: candidate) != nil { return candidate }
      throw Unexpected("no text for the pattern \(pattern)")
    }
    if case .integer(let least)? = schema["minLength"] { return String(repeating: "x", count: Int(least)) }
    return "text"
  }

  // MARK: The properties of the document

  /// Returns all properties of a schema and of the schemas that it refers to, as in ``seen``.
  func properties(of name: String) -> Set<String> {
    var found: Set<String> = []
    var visited: Set<String> = []
    collect(["$ref": .text("#/components/schemas/\(name)")], "", &found, &visited)
    return found
  }

  private func collect(_ schema: SyncValue, _ place: String, _ found: inout Set<String>, _ visited: inout Set<String>) {
    if let name = Self.reference(schema) {
      guard visited.insert(name).inserted, let schema = schemas[name] else { return }
      return collect(schema, name, &found, &visited)
    }
    if case .array(let choices)? = schema["oneOf"] {
      for choice in choices { collect(choice, place, &found, &visited) }
    }
    if case .object(let properties)? = schema["properties"] {
      for property in properties.members {
        found.insert("\(place).\(property.name)")
        collect(property.value, "\(place).\(property.name)", &found, &visited)
      }
    }
    if let items = schema["items"] { collect(items, place + "[]", &found, &visited) }
    if let additional = schema["additionalProperties"] { collect(additional, place + ".*", &found, &visited) }
  }
}
