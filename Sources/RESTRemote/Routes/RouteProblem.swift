/// A problem of a route file: its place, the problem and a valid value.
public struct RouteProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// The invalid member, such as `entities.DopeEntry.create`; empty for the file itself.
  public var place: String
  /// The problem.
  public let message: String
  /// A valid value.
  public let hint: String

  init(_ message: String, hint: String, at place: String = "") {
    (self.place, self.message, self.hint) = (place, message, hint)
  }

  func at(_ place: String) -> RouteProblem { RouteProblem(message, hint: hint, at: place) }

  /// The place, the message and the hint.
  public var description: String { "\(place.isEmpty ? "" : place + ": ")\(message) (\(hint))" }
}

/// The problems of a route file.
public struct RouteFileError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The problems; at least one.
  public let problems: [RouteProblem]

  /// The problems, one on each line.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}
