/// An error for numbers without a result.
///
/// Programs use `code`, users read `message` and `hint`.
public struct RangeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A kind of failure. New kinds may be added; compare with `==` and have a default branch.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the kind, such as `noHoles`.
    public let rawValue: String
    /// Creates the kind with a name. Any name is accepted.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A group without a hole.
    public static let noHoles = Code(rawValue: "noHoles")
    /// A string without an included shot.
    public static let noShots = Code(rawValue: "noShots")
    /// A number that is not finite, or a result that is too large.
    public static let notFinite = Code(rawValue: "notFinite")
    /// A length, a distance or a velocity that is zero or negative.
    public static let notPositive = Code(rawValue: "notPositive")
    /// The two points of a calibration are the same.
    public static let pointsCoincide = Code(rawValue: "pointsCoincide")
    /// The record is missing or deleted.
    public static let noSuchRecord = Code(rawValue: "noSuchRecord")
  }

  /// The kind of failure.
  public let code: Code
  /// The failure.
  public let message: String
  /// The remedy.
  public let hint: String

  /// Creates an error with texts for users.
  public init(_ code: Code, _ message: String, hint: String) {
    (self.code, self.message, self.hint) = (code, message, hint)
  }

  /// The message, followed by the hint in parentheses.
  public var description: String { "\(message) (\(hint))" }

  /// Refuses a number that is not finite or not above zero.
  /// - Parameter name: the name of the number, such as `the distance`.
  static func requirePositive(_ value: Double, _ name: String, hint: String) throws(RangeError) {
    guard value.isFinite else { throw RangeError(.notFinite, "\(name) is not a finite number", hint: hint) }
    guard value > 0 else { throw RangeError(.notPositive, "\(name) is not greater than zero", hint: hint) }
  }
}
