import SchemaModel

/// The references by which records belong to a project.
package struct ProjectPaths: Sendable {
  /// The entity by which a device can select the records that it pulls.
  package static let projectType = "Project"

  /// The references that lead to the project, for each entity that belongs to one, in the order of its columns. The
  /// first one with a project decides.
  package let references: [String: [(column: String, parent: String)]]

  /// A record belongs to the records that it cannot exist without.
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

  /// Returns the project that a record belongs to, or `nil`.
  /// - Parameter above: the UUIDs in the references of a record that may lead to a project, in the order of
  ///   ``references``; `nil` for an unknown record.
  package func project(
    of type: String, _ uuid: String, above: (_ type: String, _ uuid: String) throws -> [String?]?
  ) rethrows -> String? {
    var seen: Set<String> = []
    return try project(of: type, uuid, &seen, above)
  }

  private func project(
    of type: String, _ uuid: String, _ seen: inout Set<String>, _ above: (String, String) throws -> [String?]?
  ) rethrows -> String? {
    if type == Self.projectType { return uuid }
    guard seen.insert(uuid).inserted, let uuids = try above(type, uuid) else { return nil }
    for (reference, parent) in zip(references[type] ?? [], uuids) {
      guard let parent, let project = try project(of: reference.parent, parent, &seen, above) else { continue }
      return project
    }
    return nil
  }

  private static func isTie(_ column: SharedColumn) -> Bool {
    guard let reference = column.reference else { return false }
    return reference.cascades || column.column.isNotNull
  }

  private static func parent(of column: SharedColumn) -> String { column.reference?.entityType ?? "" }
}
