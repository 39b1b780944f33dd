import SyncModel

/// The position of a value in a JSON document: names of members separated by dots, such as `data.items`; empty for
/// the document itself.
public struct JSONPlace: Hashable, Sendable, CustomStringConvertible {
  /// The names, from the outermost to the innermost.
  public let names: [String]

  /// Parses a position; `nil` if one of its names is empty.
  public init?(_ text: String) {
    names = text.isEmpty ? [] : text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if names.contains("") { return nil }
  }

  /// The document itself.
  public static let whole = JSONPlace(names: [])

  /// A member of the document.
  init(member name: String) { names = [name] }

  private init(names: [String]) { self.names = names }

  /// The form in a route file.
  public var description: String { names.joined(separator: ".") }

  /// Returns the value at the position, or `nil`.
  public func value(in document: SyncValue) -> SyncValue? {
    var value = document
    for name in names {
      guard case .object(let object) = value, let member = object[name] else { return nil }
      value = member
    }
    return value
  }

  /// Sets a value at the path, creating missing objects.
  package func set(_ value: SyncValue, in object: inout SyncObject) { Self.set(value, names[...], &object) }

  private static func set(_ value: SyncValue, _ names: ArraySlice<String>, _ object: inout SyncObject) {
    guard let first = names.first else { return }
    if names.count == 1 { return object[first] = value }
    var inner = SyncObject()
    if case .object(let there)? = object[first] { inner = there }
    set(value, names.dropFirst(), &inner)
    object[first] = .object(inner)
  }
}
