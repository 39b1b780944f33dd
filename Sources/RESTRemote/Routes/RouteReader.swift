import SyncModel

/// Collects the problems of a file, so that the user sees all of them at once.
final class RouteProblems {
  private(set) var list: [RouteProblem] = []
  func add(_ problem: RouteProblem) { list.append(problem) }
}

/// Reads the members of one object of a route file, and reports unknown members. A mistyped name would otherwise have
/// no effect.
struct RouteReader {
  let place: String
  private let object: SyncObject
  private let problems: RouteProblems

  init(_ object: SyncObject, at place: String, _ problems: RouteProblems) {
    (self.object, self.place, self.problems) = (object, place, problems)
  }

  func has(_ name: String) -> Bool { object[name] != nil }

  func place(_ name: String) -> String { place.isEmpty ? name : "\(place).\(name)" }

  func wrong(_ name: String, _ message: String, hint: String) {
    problems.add(RouteProblem(message, hint: hint, at: place(name)))
  }

  /// Reports members other than these. A name that begins with an underscore is a comment.
  func onlyHas(_ names: [String]) {
    for name in object.names where !names.contains(name) && !name.hasPrefix("_") {
      wrong(name, "unknown member '\(name)'", hint: "allowed: \(names.joined(separator: ", "))")
    }
  }

  func text(_ name: String) -> String? {
    switch object[name] {
    case nil: return nil
    case .text(let text)? where !text.isEmpty: return text
    default:
      wrong(name, "it is not a string", hint: "a string in quotes is required")
      return nil
    }
  }

  func required(_ name: String, hint: String) -> String? {
    if !has(name) { wrong(name, "it is missing", hint: hint) }
    return text(name)
  }

  func flag(_ name: String) -> Bool? {
    switch object[name] {
    case nil: return nil
    case .bool(let flag)?: return flag
    default:
      wrong(name, "it is neither true nor false", hint: "true or false is required")
      return nil
    }
  }

  func integer(_ name: String, in range: ClosedRange<Int64>) -> Int64? {
    switch object[name] {
    case nil: return nil
    case .integer(let number)? where range.contains(number): return number
    default:
      wrong(name, "it is not a number in the valid range", hint: "\(range.lowerBound) to \(range.upperBound)")
      return nil
    }
  }

  /// One of the words of an enumeration.
  func word<Word: RawRepresentable & CaseIterable>(_ name: String, _ type: Word.Type) -> Word?
  where Word.RawValue == String {
    guard let text = text(name) else { return nil }
    if let word = Word(rawValue: text) { return word }
    wrong(name, "unknown value '\(text)'", hint: Word.allCases.map(\.rawValue).joined(separator: ", "))
    return nil
  }

  func jsonPlace(_ name: String) -> JSONPlace? {
    guard object[name] != nil else { return nil }
    if case .text(let text)? = object[name], let place = JSONPlace(text) { return place }
    wrong(name, "it is not a path in a response", hint: "member names separated by dots, such as data.id")
    return nil
  }

  func call(_ name: String, _ methods: [String]) -> RouteCall? {
    guard let text = text(name) else { return nil }
    do throws(RouteProblem) {
      return try RouteCall(text, methods: methods)
    } catch {
      problems.add(error.at(place(name)))
      return nil
    }
  }

  func object(_ name: String) -> RouteReader? {
    switch object[name] {
    case nil: return nil
    case .object(let inner)?: return RouteReader(inner, at: place(name), problems)
    default:
      wrong(name, "it is not an object", hint: "an object in braces is required")
      return nil
    }
  }

  /// The members that are objects, by name.
  func objects() -> [(name: String, reader: RouteReader)] {
    object.names.filter { !$0.hasPrefix("_") }.compactMap { name in object(name).map { (name, $0) } }
  }

  /// Members that are texts, by name.
  func texts() -> [(name: String, text: String)] {
    object.names.filter { !$0.hasPrefix("_") }.compactMap { name in text(name).map { (name, $0) } }
  }

  /// Refuses places of which one overwrites another: equal ones, and one that is within another.
  func checkPlaces(_ places: [String: JSONPlace]) {
    // Sorted by name, a position comes directly before the positions within it.
    let sorted = places.sorted { left, right in
      left.value == right.value
        ? left.key < right.key : left.value.names.lexicographicallyPrecedes(right.value.names)
    }
    for (outer, inner) in zip(sorted, sorted.dropFirst()) where inner.value.names.starts(with: outer.value.names) {
      let message =
        outer.value == inner.value
        ? "\(outer.key) and \(inner.key) are both '\(inner.value)'"
        : "'\(inner.value)' is within '\(outer.value)', the place of \(outer.key)"
      wrong(inner.key, message, hint: "each field requires its own path")
    }
  }

  /// An array of texts.
  func names(_ name: String) -> [String]? {
    guard let value = object[name] else { return nil }
    if case .array(let elements) = value {
      let texts = elements.compactMap { element -> String? in
        guard case .text(let text) = element else { return nil }
        return text
      }
      if texts.count == elements.count { return texts }
    }
    wrong(name, "it is not a list of strings", hint: "such as [\"distance\", \"notes\"]")
    return nil
  }
}
