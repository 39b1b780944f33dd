import ServerStorage

/// The text by which a node tells others of changes: the node, then the folder of each account, with the projects of its
/// changes unless they concern all devices. `NODE,ACCOUNT,ACCOUNT:PROJECT:PROJECT`
struct ChangeNotification: Equatable {
  let node: String
  let changes: [String: ChangeScope]

  /// PostgreSQL accepts fewer than 8,000 bytes.
  static let greatestLength = 7_900
  /// Changes of more projects concern all devices.
  static let mostProjects = 20

  /// Parses a text; `nil` if it has no node.
  init?(_ text: String) {
    let parts = text.split(separator: ",")
    guard let node = parts.first else { return nil }
    self.node = String(node)
    changes = Dictionary(
      parts.dropFirst().map { part in
        let words = part.split(separator: ":").map(String.init)
        return (words[0], ChangeScope(words.count > 1 ? Set(words.dropFirst()) : nil))
      }, uniquingKeysWith: { first, _ in first })
  }

  /// Moves as many changes as there is room for into a text.
  /// - Returns: `nil` without changes.
  static func take(from changes: inout [String: ChangeScope], of node: String) -> String? {
    if changes.isEmpty { return nil }
    var text = node
    for (folder, scope) in changes {
      var part = "," + folder
      if let projects = scope.projects, !projects.isEmpty, projects.count <= mostProjects {
        part += projects.sorted().map { ":" + $0 }.joined()
      }
      if text.utf8.count + part.utf8.count > greatestLength { break }
      text += part
      changes[folder] = nil
    }
    return text
  }
}
