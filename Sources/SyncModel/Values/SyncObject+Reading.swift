extension SyncObject {
  /// Parses a JSON object. Any other JSON gives an empty object.
  package init(parsing json: String) throws(SyncModelError) {
    guard case .object(let object) = try SyncValue(parsing: json) else { self = [:]; return }
    self = object
  }

  /// Returns the text of a member; `nil` if the member is absent or not a text.
  package func text(_ name: String) -> String? {
    if case .text(let text)? = self[name] { return text }
    return nil
  }
}
