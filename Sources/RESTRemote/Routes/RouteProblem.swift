/// A problem of a route file: its place, the problem and a valid value.
public struct RouteProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// The member that is wrong, such as `entities.DopeEntry.create`; empty for the file itself.
  public var place: String
  /// The problem.
  public let message: String
  /// A valid value.
  public let hint: String

  init(_ message: String, hint: String, at place: String = "") {
    (self.place, self.message, self.hint) = (place, message, hint)
  }

  func at(_ place: String) -> RouteProblem { RouteProblem(message, hint: hint, at: place) }

  /// Place, message and hint.
  public var description: String { "\(place.isEmpty ? "" : place + ": ")\(message) (\(hint))" }
}

/// Everything that is wrong with a route file.
public struct RouteFileError: Error, Equatable, Sendable, CustomStringConvertible {
  /// At least one.
  public let problems: [RouteProblem]

  /// One problem a line.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}
