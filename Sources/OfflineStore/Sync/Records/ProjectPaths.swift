/// The references by which records belong to a project.
package struct ProjectPaths: Sendable {
  /// The kind of record by which a device may choose what it pulls.
  package static let projectType = "Project"

  /// For a kind of record that belongs to a project: the references by which it does, in the order of its columns. The first that leads to
  /// a project decides.
  package let references: [String: [(column: String, parent: String)]]

  /// A record belongs to what it cannot be without.
  package init(_ tables: [String: RecordTable]) {
    var belonging: Set<String> = [Self.projectType]
    while true {
      let more = tables.filter { type, table in
        !belonging.contains(type)
          && table.columns.contains { Self.isTie($0) && belonging.contains(Self.parent(of: $0)) }
      }
      if more.isEmpty { break }
      belonging.formUnion(more.keys)
    }
    var references: [String: [(column: String, parent: String)]] = [:]
    for (type, table) in tables where type != Self.projectType && belonging.contains(type) {
      references[type] = table.columns.filter { Self.isTie($0) && belonging.contains(Self.parent(of: $0)) }.map {
        ($0.name, Self.parent(of: $0))
      }
    }
    self.references = references
  }

  private static func isTie(_ column: SharedColumn) -> Bool {
    guard let reference = column.reference else { return false }
    return reference.cascades || column.column.isNotNull
  }

  private static func parent(of column: SharedColumn) -> String { column.reference?.entityType ?? "" }
}
